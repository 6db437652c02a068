import fc from 'fast-check'
import type { Entry, RunState, ThreadEvent, ThreadState, UserMessage } from '../protocol/index.ts'
import {
  applyEntry,
  conversationOf,
  emptyThread,
  isOpen,
  metadataEvent,
  nextThreadAction,
  noUsage,
  queuedInputs,
} from '../protocol/index.ts'

/**
 * Events within a run are more frequent than those that end it, or logs would have only short runs.
 */
const kinds = [
  ...(['input', 'stop', 'start', 'start', 'start', 'round', 'round', 'round', 'round', 'roundEnd'] as const),
  ...(['roundEnd', 'words', 'words', 'words', 'words', 'call', 'call', 'call', 'result', 'result'] as const),
  ...([
    'result',
    'result',
    'request',
    'request',
    'request',
    'approve',
    'suspend',
    'suspend',
    'resume',
  ] as const),
  ...([
    'end',
    'retract',
    'summary',
    'summary',
    'playback',
    'correct',
    'relay',
    'rewind',
    'metadata',
  ] as const),
]

/** A step to try; it is skipped where it would be invalid. */
const step = fc.record({ kind: fc.constantFrom(...kinds), n: fc.nat(1000) })

export const randomSteps = fc.array(step, { minLength: 100, maxLength: 300, size: 'max' })

/**
 * A log as a worker and its users write it: all events that a fold has to handle, in any order that
 * can occur.
 */
export function logOf(steps: typeof randomSteps extends fc.Arbitrary<infer Steps> ? Steps : never): Entry[] {
  const state = emptyThread()
  const entries: Entry[] = []
  for (const { kind, n } of steps) {
    const event = eventFor(kind, n, state)
    if (!event) continue
    const entry = { seq: entries.length + 1, at: 1000 + entries.length, event }
    entries.push(entry)
    applyEntry(state, entry)
  }
  return entries
}

const text = (n: number) => (n % 9 === 0 ? `long words ${n} `.repeat(20) : `words ${n}. `)
const user = (n: number): UserMessage => ({ role: 'user', content: text(n) })

function eventFor(kind: (typeof kinds)[number], n: number, state: ThreadState): ThreadEvent | undefined {
  const { run } = state
  const active = run && run.outcome === undefined ? run : undefined
  const usage = { inputTokens: n, outputTokens: 1 }
  switch (kind) {
    case 'input':
      return {
        type: 'input',
        mode: (['queue', 'steer', 'interrupt'] as const)[n % 3] ?? 'queue',
        message: user(n),
      }
    case 'correct':
      return active?.phase === 'generated' ? { type: 'input', mode: 'correct', message: user(n) } : undefined
    case 'rewind': {
      const length = conversationOf(state).length - queuedInputs(state).length
      const keep = n % (length + 1)
      const isSummarized = keep < (run?.forgotten.length ?? 0)
      return {
        type: 'rewind',
        before: 1 + (n % (state.head + 1)),
        ...(n % 5 !== 0 && { keep: isSummarized ? 0 : keep }),
        ...((isSummarized || n % 3 === 0) && { messages: [user(n)] }),
        ...(n % 2 === 0 && { answer: true }),
      }
    }
    case 'stop':
      return { type: 'stop', reason: `stop ${n}` }
    case 'start': {
      const action = nextThreadAction(state)
      if (action.type !== 'start') return undefined
      const numbersOf = (isDiscarded: boolean) =>
        action.inputs.flatMap(({ seq, discarded = false }) => (discarded === isDiscarded ? [seq] : []))
      return {
        type: 'run-start',
        version: 2,
        runId: `run_${state.head}`,
        agent: 'a',
        input: [],
        inputs: numbersOf(false),
        discarded: numbersOf(true),
      }
    }
    case 'resume':
      if (!run || !isOpen(run)) return undefined
      return {
        type: 'run-start',
        version: 1,
        runId: `run_${state.head}`,
        agent: 'a',
        input: [],
        resumes: run.runId,
      }
    case 'round': {
      if (
        !active ||
        active.phase === 'generating' ||
        [...active.calls.values()].some(({ result }) => !result)
      )
        return undefined
      const inputs = state.waiting.flatMap(({ mode, held, seq }) => (mode === 'steer' && !held ? [seq] : []))
      const round = active.phase === 'none' ? Math.max(1, active.round) : active.round + 1
      return { type: 'round-start', round, model: 'm', ...(inputs.length > 0 && { inputs }) }
    }
    case 'words':
      return isGenerating(active) ? { type: n % 4 === 0 ? 'reasoning' : 'text', text: text(n) } : undefined
    case 'call':
      return isGenerating(active)
        ? { type: 'tool-call', callId: `call_${state.head}`, name: 'f', input: { n } }
        : undefined
    case 'retract':
      return isGenerating(active)
        ? { type: 'round-retract', round: active?.round ?? 0, reason: 'broke' }
        : undefined
    case 'roundEnd':
      return isGenerating(active)
        ? { type: 'round-end', round: active?.round ?? 0, model: 'm', finish: 'stop', usage }
        : undefined
    case 'summary': {
      if (!active || active.phase === 'generating' || active.history.length < 3) return undefined
      let replaces = 1 + (n % (active.history.length - 1))
      while (active.history[replaces]?.role === 'tool') replaces--
      return replaces > active.summaries ? { type: 'summary', replaces, message: user(n), usage } : undefined
    }
    case 'playback': {
      const keys = [...(run?.answers.keys() ?? []), `${run?.originId} ${run?.round}`]
      const [origin = '', round = '0'] = (keys[n % keys.length] ?? '').split(' ')
      return run ? { type: 'playback', run: origin, round: Number(round), chars: n % 40 } : undefined
    }
    case 'metadata': {
      const patch = { step: n, [`field${n % 5}`]: n % 3 === 0 ? null : { [`inner${n % 2}`]: n } }
      return metadataEvent(state.metadata, patch, { step: 0, field0: 'first' })
    }
    case 'end':
      if (!active) return undefined
      return {
        type: 'run-end',
        outcome: n % 3 === 0 ? 'canceled' : 'completed',
        usage: { ...noUsage, ...usage },
      }
    case 'suspend':
      return active && openCalls(active).some(({ waiting }) => waiting)
        ? { type: 'run-end', outcome: 'suspended', usage: noUsage }
        : undefined
    default:
      return callEvent(kind, n, run)
  }
}

function callEvent(
  kind: 'result' | 'request' | 'approve' | 'relay',
  n: number,
  run: RunState | undefined,
): ThreadEvent | undefined {
  const calls = run ? openCalls(run) : []
  const call = calls[n % calls.length]
  if (!run || !call) return undefined
  const { callId, name } = call.call
  if (kind !== 'approve' && run.outcome !== undefined) return undefined
  if (kind === 'result') {
    const output = [{ type: 'text', text: text(n) } as const]
    const rest = { status: 'ok', isError: false, ms: 1, overlapMs: 0 } as const
    return { type: 'tool-result', callId, name, output, ...(n % 2 === 0 && { shown: [] }), ...rest }
  }
  if (kind === 'relay') return { type: 'tool-progress', callId, event: { type: 'text', text: text(n) } }
  if (kind === 'request') return { type: 'approval-request', callId, name, input: {} }
  const remember = { for: 'thread', rules: [`rule ${n}`] } as const
  return { type: 'approval', callId, approved: n % 2 === 0, ...(n % 4 === 0 && { remember }) }
}

function isGenerating(run: RunState | undefined): boolean {
  return run?.phase === 'generating'
}

function openCalls({ calls }: RunState) {
  return [...calls.values()].filter(({ result }) => !result)
}
