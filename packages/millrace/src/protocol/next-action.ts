import type { Outcome } from './events.ts'
import type { RunState } from './run-state.ts'
import type { ThreadState } from './thread-state.ts'
import { steeringInputs } from './thread-state.ts'

export interface NextOptions {
  readonly maxRounds: number
  /** Generate one round and run no tools. */
  readonly planOnly: boolean
}

/**
 * - `generate`: ask the model for the next round
 * - `retract`: a round is incomplete and none of its calls has started, so generate it again
 * - `keep`: a round is incomplete and a call has started, so keep the completed part
 * - `rejoin`: a round is incomplete and the provider stores the generation, so read the rest from
 *   there
 * - `execute`: run the open calls, or answer them with the reason why they are not run
 * - `end`: the run has ended
 */
export type Action =
  | { readonly type: 'generate' | 'retract' | 'keep' | 'rejoin' | 'execute' }
  | { readonly type: 'end'; readonly outcome: Outcome }

/** What a run does next: a pure function of its log. */
export function nextAction(thread: ThreadState, options: NextOptions): Action {
  const { run: state } = thread
  if (state?.budgetRequest && !state.budgetDecision) return { type: 'end', outcome: 'suspended' }
  if (state?.budgetDecision?.approved === false) return { type: 'end', outcome: 'budget' }
  if (!state || state.phase === 'none') return { type: 'generate' }
  const calls = [...state.calls.values()]
  if (state.phase === 'generating' && state.checkpoint) return { type: 'rejoin' }
  if (state.phase === 'generating') return { type: hasStarted(state) ? 'keep' : 'retract' }

  const open = calls.filter((call) => !call.result)
  if (open.some((call) => !call.waiting)) return { type: 'execute' }
  if (open.length > 0) return { type: 'end', outcome: 'suspended' }
  if (options.planOnly) return { type: 'end', outcome: 'completed' }
  // The log of a run that failed or was canceled here, but lacks its `run-end`.
  if (state.finish === 'interrupted' && calls.length === 0) return { type: 'retract' }
  if (hasInputs(thread)) return { type: 'generate' }
  if (state.finish === 'length') return { type: 'end', outcome: 'truncated' }
  if (calls.length === 0) return { type: 'end', outcome: 'completed' }
  return mayRunTools(state, options) ? { type: 'generate' } : { type: 'end', outcome: 'max-rounds' }
}

/** Whether there are inputs for the next round. */
export function hasInputs(thread: ThreadState): boolean {
  return (thread.run?.inputs.length ?? 0) > 0 || steeringInputs(thread).length > 0
}

/**
 * Whether a call of the round has started, or a client may have started it. Generating the round
 * again would run it twice.
 */
export function hasStarted({ calls }: RunState): boolean {
  for (const { attempts, requests } of calls.values()) {
    if (attempts > 0) return true
    for (const { wants } of requests.values()) if (wants) return true
  }
  return false
}

/**
 * Whether the calls of the current round may run. Past the limit one more round is generated, whose
 * calls do not run.
 */
export function mayRunTools(state: RunState, { maxRounds, planOnly }: NextOptions): boolean {
  return state.toolRounds < maxRounds && !planOnly
}
