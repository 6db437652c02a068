const longestRound = 12
const leastRepeats = 4
const leastRepeated = 12

/**
 * Where a list of tokens begins to say the same again and again, and was about to go on with it: after the first time. Undefined if it does
 * not. `no, no, no` is no such thing: people say that.
 */
export function endlessFrom(tokens: readonly number[]): number | undefined {
  for (let round = 1; round <= longestRound; round++) {
    let from = tokens.length - round
    while (from > 0 && tokens[from - 1] === tokens[from - 1 + round]) from--
    const repeated = tokens.length - from
    if (repeated >= leastRepeats * round && repeated >= leastRepeated) return from + round
  }
  return undefined
}
