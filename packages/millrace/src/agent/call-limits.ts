import type { RunState } from '../protocol/index.ts'
import { mayRunTools } from '../protocol/index.ts'

/** Why the tool calls of the current round are not run; undefined if they are. */
export function roundBlockReason(
  state: RunState,
  options: { readonly maxRounds: number; readonly planOnly: boolean },
): string | undefined {
  if (options.planOnly) return 'Not run: this was only a plan.'
  return mayRunTools(state, options)
    ? undefined
    : `Not run: the limit of ${options.maxRounds} rounds with tools is reached.`
}

/** Why the tool call at this index of its round is not run; undefined if it is. */
export function callBlockReason(index: number, maxCallsPerRound: number): string | undefined {
  if (index < maxCallsPerRound) return undefined
  return `Not run: at most ${maxCallsPerRound} calls are run in one round. Repeat this call in the next round.`
}
