const maxPeriod = 12
const minRepeats = 4
const minRepeatedTokens = 12

/**
 * Finds an endless repetition at the end of a list of tokens. Returns the end of its first
 * occurrence, or undefined. A few repetitions, as in `no, no, no`, do not count: people say that.
 */
export function repetitionStart(tokens: readonly number[]): number | undefined {
  for (let period = 1; period <= maxPeriod; period++) {
    let from = tokens.length - period
    while (from > 0 && tokens[from - 1] === tokens[from - 1 + period]) from--
    const repeated = tokens.length - from
    if (repeated >= minRepeats * period && repeated >= minRepeatedTokens) return from + period
  }
  return undefined
}
