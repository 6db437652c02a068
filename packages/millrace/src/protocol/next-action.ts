import type { Outcome } from './events.ts'
import type { RunState } from './run-state.ts'
import type { ThreadState } from './thread-state.ts'
import { steeringInputs } from './thread-state.ts'

export interface NextOptions {
  readonly maxRounds: number
  /** One round, nothing is run. */
  readonly planOnly: boolean
}

/**
 * - `generate`: ask the model for the next round
 * - `retract`: a round is half told and none of its calls has started, so it is told again
 * - `keep`: a round is half told and a call has started, so it stands as far as it closed
 * - `rejoin`: a round is half told and the provider keeps its generation, so the rest is read from there
 * - `execute`: calls are to be run, or answered with the reason why they are not
 * - `end`: the run is over
 */
export type Action =
  | { readonly type: 'generate' | 'retract' | 'keep' | 'rejoin' | 'execute' }
  | { readonly type: 'end'; readonly outcome: Outcome }

/** What a run does next: a pure function of its log. */
export function nextAction(thread: ThreadState, options: NextOptions): Action {
  const { run: state } = thread
  if (!state || state.phase === 'none') return { type: 'generate' }
  const calls = [...state.calls.values()]
  if (state.phase === 'telling' && state.checkpoint) return { type: 'rejoin' }
  if (state.phase === 'telling') return { type: hasStarted(state) ? 'keep' : 'retract' }

  const open = calls.filter((call) => !call.result)
  if (open.some((call) => !call.waiting)) return { type: 'execute' }
  if (open.length > 0) return { type: 'end', outcome: 'suspended' }
  if (options.planOnly) return { type: 'end', outcome: 'completed' }
  // The log of a run that failed or was cancelled here, without its end.
  if (state.finish === 'interrupted' && calls.length === 0) return { type: 'retract' }
  if (hasInputs(thread)) return { type: 'generate' }
  if (state.finish === 'length') return { type: 'end', outcome: 'truncated' }
  if (calls.length === 0) return { type: 'end', outcome: 'completed' }
  return mayRunTools(state, options) ? { type: 'generate' } : { type: 'end', outcome: 'max-rounds' }
}

/** Whether something was said that the next round reads. */
export function hasInputs(thread: ThreadState): boolean {
  return (thread.run?.inputs.length ?? 0) > 0 || steeringInputs(thread).length > 0
}

/** Whether a call of the current round has started: the round is then kept, never retracted. */
export function hasStarted({ calls }: RunState): boolean {
  for (const { attempts } of calls.values()) if (attempts > 0) return true
  return false
}

/** Whether the calls of the current round are run: the round after the last that may is still told, and its calls only answered. */
export function mayRunTools(state: RunState, { maxRounds, planOnly }: NextOptions): boolean {
  return state.toolRounds < maxRounds && !planOnly
}
