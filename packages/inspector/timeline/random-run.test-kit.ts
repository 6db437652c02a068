import fc from 'fast-check'
import type { ThreadEvent } from 'millrace/client'
import type { TimedEvent } from './events.test-kit.ts'
import { emit } from './events.test-kit.ts'

interface State {
  round: number
  phase: 'between' | 'generating' | 'generated' | 'suspended' | 'ended'
  calls: Map<string, 'writing' | 'closed' | 'asked' | 'decided' | 'running'>
  count: number
  losses: number
  isRetracted: boolean
}

/** Random runs: slow, fast, retracted, taken over, suspended. Numbers pick each action. */
export const randomRun = fc
  .array(fc.tuple(fc.nat(1000), fc.oneof(fc.nat(3), fc.nat(900), fc.nat(90_000_000))), { maxLength: 70 })
  .map((choices): TimedEvent[] => {
    const events: TimedEvent[] = [
      [0, emit.input('Hello')],
      [5, emit.runStart({ inputs: [1] })],
    ]
    const state: State = {
      round: 0,
      phase: 'between',
      calls: new Map(),
      count: 0,
      losses: 0,
      isRetracted: false,
    }
    let at = 5
    for (const [choice, laterMs] of choices) {
      const possible = nextActions(state)
      if (possible.length === 0) break
      at += laterMs
      for (const event of possible[choice % possible.length]?.() ?? []) events.push([at, event])
    }
    return events
  })

type Action = () => ThreadEvent[]

function nextActions(state: State): Action[] {
  const { phase, calls } = state
  if (phase === 'ended') return []
  if (phase === 'suspended') return decisions(state)
  const actions: Action[] = [...callActions(state), () => loseProcess(state)]
  if (phase === 'between' || (phase === 'generated' && calls.size === 0)) {
    actions.push(() => {
      if (!state.isRetracted) state.round++
      Object.assign(state, { phase: 'generating', isRetracted: false })
      return [emit.roundStart(state.round)]
    })
    actions.push(() => {
      state.phase = 'ended'
      return [emit.runEnd()]
    })
  }
  if (phase === 'generating') actions.push(...roundActions(state))
  const asked = [...calls.values()].filter((one) => one === 'asked').length
  if (phase === 'generated' && asked > 0 && asked === calls.size)
    actions.push(() => {
      state.phase = 'suspended'
      return [emit.runEnd('suspended')]
    })
  return actions
}

function roundActions(state: State): Action[] {
  const { calls, round } = state
  const started = [...calls.values()].some((one) => one !== 'writing' && one !== 'closed')
  const actions: Action[] = [
    () => [emit.text('word ')],
    () => [emit.reasoning('hm ')],
    () => {
      const id = `c${++state.count}`
      calls.set(id, 'writing')
      return [emit.toolInputStart(id)]
    },
    () => {
      for (const [id, one] of calls) if (one === 'writing') calls.delete(id)
      state.phase = 'generated'
      return [emit.roundEnd(round, state.count % 2 === 0 ? { firstEventMs: 3, ms: 40 } : undefined)]
    },
  ]
  if (!started)
    actions.push(() => {
      calls.clear()
      return [emit.roundRetract(round), emit.roundRetry(round, 2, 700)]
    })
  return actions
}

function callActions({ calls }: State): Action[] {
  return [...calls].flatMap(([id, now]): Action[] => {
    const to = (next: typeof now, event: ThreadEvent) => () => {
      calls.set(id, next)
      return [event]
    }
    const ends = (event: ThreadEvent) => () => {
      calls.delete(id)
      return [event]
    }
    switch (now) {
      case 'writing':
        return [to('closed', emit.toolCall(id))]
      case 'closed':
        return [
          to('running', emit.toolStart(id)),
          to('asked', emit.approvalRequest(id)),
          ends(emit.toolResult(id, 0, 'denied')),
        ]
      case 'asked':
        return [to('decided', emit.approval(id))]
      case 'decided':
        return [to('running', emit.toolStart(id))]
      default:
        return [
          () => [emit.toolProgress(id)],
          ends(emit.toolResult(id, 8.25)),
          ends(emit.toolResult(id, 0, 'failed')),
        ]
    }
  })
}

/** Another process resumes the run: an incomplete round is retracted, running calls run again. */
function loseProcess(state: State): ThreadEvent[] {
  const { calls } = state
  const events: ThreadEvent[] = [
    emit.runStart({ resumes: 'run_1', losses: ++state.losses, runId: `run_${state.losses + 1}` }),
  ]
  if (state.phase === 'generating') {
    const started = [...calls.values()].some((one) => one !== 'writing' && one !== 'closed')
    if (started) return [...events, ...endRound(state)]
    calls.clear()
    Object.assign(state, { phase: 'between', isRetracted: true })
    return [...events, emit.roundRetract(state.round)]
  }
  // A round without calls is also generated again.
  if (state.phase === 'generated' && calls.size === 0) {
    Object.assign(state, { phase: 'between', isRetracted: true })
    return [...events, emit.roundRetract(state.round)]
  }
  for (const [id, one] of calls) if (one === 'running') events.push(emit.toolStart(id, state.losses + 1))
  return events
}

function endRound(state: State): ThreadEvent[] {
  for (const [id, one] of state.calls) if (one === 'writing') state.calls.delete(id)
  state.phase = 'generated'
  return [emit.roundEnd(state.round)]
}

function decisions(state: State): Action[] {
  return [...state.calls]
    .filter(([, one]) => one === 'asked')
    .map(([id]) => () => {
      state.calls.set(id, 'decided')
      state.phase = 'generated'
      return [emit.approval(id), emit.runStart({ resumes: 'run_1', runId: `again_${id}` })]
    })
}
