import type { RunState } from '../protocol/index.ts'
import { mayRunTools } from '../protocol/index.ts'

/** Why the calls of the current round are not run; undefined if they are. */
export function refusalOf(
  state: RunState,
  options: { readonly maxRounds: number; readonly planOnly: boolean },
): string | undefined {
  if (options.planOnly) return 'Not run: this was only a plan.'
  return mayRunTools(state, options)
    ? undefined
    : `Not run: the limit of ${options.maxRounds} rounds with tools is reached.`
}

/** Why the call at this place of its round is not run; undefined if it is. */
export function overTheLimit(index: number, maxCallsPerRound: number): string | undefined {
  if (index < maxCallsPerRound) return undefined
  return `Not run: at most ${maxCallsPerRound} calls are run in one round. Make this call again in the next.`
}
