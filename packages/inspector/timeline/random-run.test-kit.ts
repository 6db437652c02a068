import fc from 'fast-check'
import type { ThreadEvent } from 'millrace/client'
import type { Told } from './written.test-kit.ts'
import { tell } from './written.test-kit.ts'

interface State {
  round: number
  phase: 'between' | 'telling' | 'told' | 'suspended' | 'ended'
  calls: Map<string, 'writing' | 'closed' | 'asked' | 'decided' | 'running'>
  count: number
  losses: number
  taken: boolean
}

/** Runs of every kind: slow and fast, taken back, lost and taken over, waiting for people. Numbers choose what happens next. */
export const randomRun = fc
  .array(fc.tuple(fc.nat(1000), fc.oneof(fc.nat(3), fc.nat(900), fc.nat(90_000_000))), { maxLength: 70 })
  .map((choices): Told[] => {
    const told: Told[] = [
      [0, tell.says('Hello')],
      [5, tell.starts({ heard: [1] })],
    ]
    const state: State = { round: 0, phase: 'between', calls: new Map(), count: 0, losses: 0, taken: false }
    let at = 5
    for (const [choice, laterMs] of choices) {
      const possible = possibleNext(state)
      if (possible.length === 0) break
      at += laterMs
      for (const event of possible[choice % possible.length]?.() ?? []) told.push([at, event])
    }
    return told
  })

type Deed = () => ThreadEvent[]

function possibleNext(state: State): Deed[] {
  const { phase, calls } = state
  if (phase === 'ended') return []
  if (phase === 'suspended') return decisions(state)
  const deeds: Deed[] = [...callDeeds(state), () => lose(state)]
  if (phase === 'between' || (phase === 'told' && calls.size === 0)) {
    deeds.push(() => {
      if (!state.taken) state.round++
      Object.assign(state, { phase: 'telling', taken: false })
      return [tell.round(state.round)]
    })
    deeds.push(() => {
      state.phase = 'ended'
      return [tell.ends()]
    })
  }
  if (phase === 'telling') deeds.push(...roundDeeds(state))
  const asked = [...calls.values()].filter((one) => one === 'asked').length
  if (phase === 'told' && asked > 0 && asked === calls.size)
    deeds.push(() => {
      state.phase = 'suspended'
      return [tell.ends('suspended')]
    })
  return deeds
}

function roundDeeds(state: State): Deed[] {
  const { calls, round } = state
  const started = [...calls.values()].some((one) => one !== 'writing' && one !== 'closed')
  const deeds: Deed[] = [
    () => [tell.text('word ')],
    () => [tell.thinks('hm ')],
    () => {
      const id = `c${++state.count}`
      calls.set(id, 'writing')
      return [tell.writes(id)]
    },
    () => {
      for (const [id, one] of calls) if (one === 'writing') calls.delete(id)
      state.phase = 'told'
      return [tell.roundEnds(round, state.count % 2 === 0 ? { firstEventMs: 3, ms: 40 } : undefined)]
    },
  ]
  if (!started)
    deeds.push(() => {
      calls.clear()
      return [tell.retracts(round), tell.retries(round, 2, 700)]
    })
  return deeds
}

function callDeeds({ calls }: State): Deed[] {
  return [...calls].flatMap(([id, now]): Deed[] => {
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
        return [to('closed', tell.calls(id))]
      case 'closed':
        return [
          to('running', tell.runs(id)),
          to('asked', tell.asks(id)),
          ends(tell.result(id, 0, 'declined')),
        ]
      case 'asked':
        return [to('decided', tell.approves(id))]
      case 'decided':
        return [to('running', tell.runs(id))]
      default:
        return [() => [tell.reports(id)], ends(tell.result(id, 8.25)), ends(tell.result(id, 0, 'failed'))]
    }
  })
}

/** The process is gone, and another goes on: what was half told is taken back, what was running is run again. */
function lose(state: State): ThreadEvent[] {
  const { calls } = state
  const events: ThreadEvent[] = [
    tell.starts({ resumes: 'run_1', losses: ++state.losses, runId: `run_${state.losses + 1}` }),
  ]
  if (state.phase === 'telling') {
    const started = [...calls.values()].some((one) => one !== 'writing' && one !== 'closed')
    if (started) return [...events, ...finishTelling(state)]
    calls.clear()
    Object.assign(state, { phase: 'between', taken: true })
    return [...events, tell.retracts(state.round)]
  }
  // A round that was interrupted and has no calls is told again, too.
  if (state.phase === 'told' && calls.size === 0) {
    Object.assign(state, { phase: 'between', taken: true })
    return [...events, tell.retracts(state.round)]
  }
  for (const [id, one] of calls) if (one === 'running') events.push(tell.runs(id, state.losses + 1))
  return events
}

function finishTelling(state: State): ThreadEvent[] {
  for (const [id, one] of state.calls) if (one === 'writing') state.calls.delete(id)
  state.phase = 'told'
  return [tell.roundEnds(state.round)]
}

function decisions(state: State): Deed[] {
  return [...state.calls]
    .filter(([, one]) => one === 'asked')
    .map(([id]) => () => {
      state.calls.set(id, 'decided')
      state.phase = 'told'
      return [tell.approves(id), tell.starts({ resumes: 'run_1', runId: `again_${id}` })]
    })
}
