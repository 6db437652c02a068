import type { Log } from '../log/index.ts'
import { readLog } from '../log/index.ts'
import type { Entry, Message, RewindEvent, RunRequest, ThreadState } from '../protocol/index.ts'
import {
  applyEntry,
  conversationOf,
  emptyThread,
  invalidInput,
  isNewRun,
  pairHistory,
  queuedInputs,
  transcriptLength,
} from '../protocol/index.ts'

const op = 'thread.rewind'

/** A place in the current conversation that it can be rewound to. */
interface Target {
  readonly type: 'input' | 'run' | 'rewind'
  /** The number of its entry. */
  readonly seq: number
  /** How many messages come before it. */
  readonly index: number
  /** For a run: what came with its inputs. */
  readonly request?: RunRequest | undefined
  /** For a rewind: the targets in what it replaced. */
  readonly replaced?: readonly Target[]
}

/** What a rewind has replaced. */
interface Replaced {
  readonly messages: readonly Message[]
  /** Whether a run would have started, had it not been replaced. */
  readonly answer: boolean
  /** What came with the messages. */
  readonly request: RunRequest | undefined
}

/**
 * The event that rewinds a thread to before an entry. Reads the whole log. Throws `invalid_input`
 * unless the entry is an input, the start of a run or a rewind, and part of the current
 * conversation.
 */
export async function rewindEvent(
  log: Log,
  before: number,
  request: RunRequest | undefined,
): Promise<RewindEvent> {
  const state = emptyThread()
  let targets: Target[] = []
  let replaced: Replaced | undefined
  for await (const page of readLog(log, { after: 0 }))
    for (const entry of page) {
      if (entry.seq === before && entry.event.type === 'rewind')
        replaced = replacedBy(entry.event, state, targets)
      targets = follow(state, targets, entry)
    }
  // No run has read it: nothing else changes.
  if (queuedInputs(state).some(({ seq }) => seq === before)) return { type: 'rewind', before }
  const found = targets.find(({ seq }) => seq === before)
  if (!found) throw invalidInput(op, problem(before, state, targets))
  // A summary that covers what is replaced goes too, so the messages before it are needed again.
  const { forgotten = [], dropped = 0 } = state.run ?? {}
  const isSummarized = found.index < dropped + forgotten.length
  const kept = isSummarized ? conversationOf(state).slice(0, found.index) : []
  const messages = [...kept, ...(replaced?.messages ?? [])]
  const answered = request ?? found.request ?? replaced?.request
  return {
    type: 'rewind',
    before,
    keep: isSummarized ? 0 : found.index,
    ...(messages.length > 0 && { messages }),
    ...((found.type === 'run' || replaced?.answer) && { answer: true }),
    ...(answered && { request: answered }),
  }
}

/** Messages that waited before the place stay where they are. */
function replacedBy({ before }: RewindEvent, state: ThreadState, targets: readonly Target[]): Replaced {
  const inputs = queuedInputs(state)
  const conversation = conversationOf(state)
  const read = conversation.slice(indexOf(before, state, targets), conversation.length - inputs.length)
  const discarded = inputs.filter(({ seq }) => seq >= before)
  return {
    // A run may have been in progress.
    messages: [...pairHistory(read, op).messages, ...discarded.map(({ message }) => message)],
    answer: discarded.some(({ held }) => !held),
    request: discarded.findLast(({ request }) => request)?.request,
  }
}

/** How many messages a rewind to before this entry keeps. */
function indexOf(before: number, state: ThreadState, targets: readonly Target[]): number {
  const found = targets.find(({ seq }) => seq === before)
  return found?.index ?? conversationOf(state).length - queuedInputs(state).length
}

/** Applies an entry. Returns the targets after it, in the order of the conversation. */
function follow(state: ThreadState, targets: Target[], entry: Entry): Target[] {
  const { seq, event } = entry
  if (event.type === 'rewind' && event.keep !== undefined) {
    const index = indexOf(event.before, state, targets)
    applyEntry(state, entry)
    return rewindTargets(targets, event.before, { seq, index })
  }
  const numbers = event.type === 'run-start' || event.type === 'round-start' ? (event.inputs ?? []) : []
  const read = state.waiting.filter(({ seq, message }) => message && numbers.includes(seq))
  applyEntry(state, entry)
  // What a run adds that does not know of a rewind is replaced when it has ended.
  if (state.rewinds.length > 0 || (read.length === 0 && !isNewRun(event))) return targets
  const length = state.run ? transcriptLength(state.run) : 0
  const inputs = read.map(
    (input, at): Target => ({ type: 'input', seq: input.seq, index: length - read.length + at }),
  )
  targets.push(...inputs)
  if (isNewRun(event)) targets.push({ type: 'run', seq, index: length, request: state.run?.request })
  return targets
}

/**
 * Rewinds of the same place stand together, in front of what the conversation has there now. All of
 * them stay targets, except the one whose version is restored.
 */
function rewindTargets(
  targets: readonly Target[],
  before: number,
  { seq, index }: Pick<Target, 'seq' | 'index'>,
): Target[] {
  const at = targets.findIndex((target) => target.seq === before)
  const found = targets[at]
  let end = at < 0 ? targets.length : at
  if (found?.type === 'rewind')
    while (targets[end]?.type === 'rewind' && targets[end]?.index === found.index) end++
  const kept = targets.slice(0, end).filter((target) => target !== found)
  return [...kept, { type: 'rewind', seq, index, replaced: targets.slice(end) }, ...(found?.replaced ?? [])]
}

function problem(before: number, { head }: ThreadState, targets: readonly Target[]): string {
  const replaced = targets.findLast((target) => contains(target, before))
  if (replaced)
    return `entry ${before} is part of a version that was replaced: restore it first, with rewind(${replaced.seq})`
  const last = targets.findLast(({ type }) => type === 'run')
  const example = last ? `, such as ${last.seq} to answer again` : ''
  return `'before' must be the number of an input, of the start of a run or of a rewind, from 1 to ${head}${example}, not ${before}`
}

function contains({ replaced = [] }: Target, seq: number): boolean {
  return replaced.some((target) => target.seq === seq || contains(target, seq))
}
