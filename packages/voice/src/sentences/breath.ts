import { clauseMarks, isLowSurrogate } from './characters.ts'
import type { Tape } from './tape.ts'

interface Span {
  readonly from: number
  readonly to: number
}

/** Remembers where a long sentence can be cut. */
export interface Breath {
  /** There is space before this place, and `before` is the character before that. */
  space(at: number, before: number): void
  /** A mark that needs no space stands before this place. */
  clause(at: number): void
  /**
   * Where to cut what begins at `start` and goes on to `end`, which is too long; 0 if it has to grow until there is a place.
   * Never in a word unless the word is too long, and never in what is shown as one character, or is `whole`.
   */
  cut(tape: Tape, start: number, end: number, whole?: Span): number
}

const words = new Intl.Segmenter('en', { granularity: 'word' })
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
const halfPair = /[\ud800-\udbff]$/
const joining = /[\p{M}\p{Emoji_Modifier}\u200d]/u

export function breath(maxChars: number): Breath {
  let clause = 0
  let space = 0
  /** What begins there has no place to be cut at in all its length. */
  let stuck = -1
  return {
    space(at, before) {
      space = at
      if (clauseMarks.has(before)) clause = at
    },
    clause(at) {
      clause = at
    },
    cut(tape, start, end, whole = { from: end, to: end }) {
      const limit = start + maxChars
      const early = start + maxChars * 0.3
      for (const place of [clause, space]) if (place > early && place <= limit) return place
      if (whole.from <= limit && whole.to > limit) return whole.to
      // One more than fits, so that what comes last is known to be too much.
      const text = stuck === start ? '' : tape.slice(start, limit + 1).replace(halfPair, '')
      const found = text && (lastStart(words, text, maxChars * 0.3) || lastStart(characters, text, 0))
      if (found) return start + found
      stuck = start
      const [before, after] = [tape.slice(end - 2, end - 1), tape.slice(end - 1, end)]
      const joins = joining.test(after) || joining.test(before) || isLowSurrogate(after.charCodeAt(0))
      return joins ? 0 : end - 1
    },
  }
}

/** Where the last segment begins, if that is farther than `least`; else 0. */
function lastStart(segmenter: Intl.Segmenter, text: string, least: number): number {
  const last = segmenter.segment(text).containing(text.length - 1)
  return last && last.index > least ? last.index : 0
}
