/**
 * How well a text matches what the user typed; undefined if it does not. Letters continue the match
 * before them or begin a word: "nt", "newt" and "thread" find "New thread". Letters anywhere would
 * find a command for nearly every word, before the threads that contain it.
 */
export function fuzzyScore(typed: string, text: string): number | undefined {
  const letters = [...typed.toLowerCase().replace(/\s+/g, '')]
  const words = text.toLowerCase()
  const starts = [...words.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)].map(({ index }) => index)

  /** The best score of the letters from `at`, if the last one was found at `last`. */
  function best(at: number, last: number): number | undefined {
    const letter = letters[at]
    if (letter === undefined) return 0
    const places = starts.filter((start) => start > last + 1)
    let most: number | undefined
    for (const place of [last + 1, ...places]) {
      if (!words.startsWith(letter, place)) continue
      const rest = best(at + 1, place + letter.length - 1)
      const score = rest === undefined ? undefined : rest + (place === last + 1 ? 2 : 1)
      if (score !== undefined && (most === undefined || score > most)) most = score
    }
    return most
  }

  const score = best(0, -1)
  return score === undefined ? undefined : score - words.length / 100
}
