import { isSpace } from './characters.ts'
import type { Delimiters } from './delimiters.ts'
import type { LanguageRules } from './languages/index.ts'
import type { TextBuffer } from './text-buffer.ts'

/** The state of the sentence being read. Positions are those of the buffer. */
export interface Passage {
  readonly buffer: TextBuffer
  readonly delimiters: Delimiters
  readonly language: string | undefined
  readonly rules: LanguageRules
  readonly start: number
  /** Where its text starts, after space and line markup; -1 before that. */
  readonly content: number
  /** It is at the start of a line. */
  readonly startsLine: boolean
  /** Its first letter is lower case, so lower case after it means little. */
  readonly startsLower: boolean
  /** The number at the start of the previous sentence, if that looked like a list item. */
  readonly marker: number | undefined
  /** The start of the current run without spaces. */
  readonly token: number
  /** The first colon in it, or -1. */
  readonly colon: number
}

const maxLength = 24
const wordBreaks = new Set(
  [...'"“”„‚‘«»‹›([{)]}*_~`/—–―¿¡<>|+=「」『』（）《》'].map((one) => one.charCodeAt(0)),
)

export interface WordBefore {
  /** Letters, digits, stops, hyphens and apostrophes; '' if there are none or too many. */
  readonly word: string
  readonly at: number
}

/** The word that ends at a position, within the sentence. */
export function wordBefore({ buffer, content }: Passage, end: number): WordBefore {
  let at = end
  while (at > content && end - at <= maxLength) {
    const code = buffer.code(at - 1)
    if (isSpace(code) || wordBreaks.has(code)) break
    at--
  }
  return { word: end - at > maxLength ? '' : buffer.slice(at, end), at }
}

/**
 * The end of the previous word, before the space at `at`; `at` itself if there is no or too much
 * space.
 */
export function previousWordEnd({ buffer, content }: Passage, at: number): number {
  let end = at
  while (end > content && at - end < 4 && isSpace(buffer.code(end - 1))) end--
  return end
}

const slash = 47

/** Whether a position is within a URL, judging by the text before it. */
export function inAddress({ buffer, token, colon }: Passage, at: number): boolean {
  if (colon >= token && colon + 2 < at)
    return buffer.code(colon + 1) === slash && buffer.code(colon + 2) === slash
  return token + 4 <= at && buffer.slice(token, token + 4) === 'www.'
}
