import type { RunState } from '../protocol/index.ts'
import { limitText, mayRunTools } from '../protocol/index.ts'
import type { RunBudget } from './budget.ts'

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
export function callBlockReason(
  index: number,
  maxCallsPerRound: number,
  budget: RunBudget | undefined,
): string | undefined {
  if (index >= maxCallsPerRound)
    return `Not run: at most ${maxCallsPerRound} calls are run in one round. Repeat this call in the next round.`
  const limit = budget?.callLimit(index)
  return limit && `Not run. ${limitText(limit)}`
}
