import { segmenter } from '../segmenter.ts'
import { clauseMarks, isLowSurrogate } from './characters.ts'
import type { TextBuffer } from './text-buffer.ts'

interface Span {
  readonly from: number
  readonly to: number
}

/** Tracks where a long sentence can be split. */
export interface SoftBreaks {
  /** Records space before `at`; `before` is the character before the space. */
  space(at: number, before: number): void
  /** Records a clause mark before `at` that needs no space. */
  clause(at: number): void
  /**
   * Where to split text from `start` to `end` that is too long; 0 if there is no place yet. Never
   * inside a grapheme or the span `whole`, and inside a word only if that is too long itself.
   */
  cut(buffer: TextBuffer, start: number, end: number, whole?: Span): number
}

const halfPair = /[\ud800-\udbff]$/
const joining = /[\p{M}\p{Emoji_Modifier}\u200d]/u

export function softBreaks(maxChars: number): SoftBreaks {
  let clause = 0
  let space = 0
  /** The text that starts here has no place to split it within the limit. */
  let stuck = -1
  return {
    space(at, before) {
      space = at
      if (clauseMarks.has(before)) clause = at
    },
    clause(at) {
      clause = at
    },
    cut(buffer, start, end, whole = { from: end, to: end }) {
      const limit = start + maxChars
      const early = start + maxChars * 0.3
      for (const at of [clause, space]) if (at > early && at <= limit) return at
      if (whole.from <= limit && whole.to > limit) return whole.to
      // One more than fits, so that the last segment is known to exceed the limit.
      const text = stuck === start ? '' : buffer.slice(start, limit + 1).replace(halfPair, '')
      const found = text && (lastStart('word', text, maxChars * 0.3) || lastStart('grapheme', text, 0))
      if (found) return start + found
      stuck = start
      const [before, after] = [buffer.slice(end - 2, end - 1), buffer.slice(end - 1, end)]
      const joins = joining.test(after) || joining.test(before) || isLowSurrogate(after.charCodeAt(0))
      return joins ? 0 : end - 1
    },
  }
}

/** The start of the last segment, if it is past `minimum`; otherwise 0. */
function lastStart(granularity: 'word' | 'grapheme', text: string, minimum: number): number {
  const last = segmenter(granularity, 'en')
    .segment(text)
    .containing(text.length - 1)
  return last && last.index > minimum ? last.index : 0
}
