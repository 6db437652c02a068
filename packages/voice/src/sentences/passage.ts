import { isSpace } from './characters.ts'
import type { Knowledge } from './languages/index.ts'
import type { Signs } from './signs.ts'
import type { Tape } from './tape.ts'

/** What is known of the sentence that is being read. Places are those of the tape. */
export interface Passage {
  readonly tape: Tape
  readonly signs: Signs
  readonly language: string | undefined
  readonly knowledge: Knowledge
  readonly start: number
  /** Where its text begins, behind space and the marks of its line. */
  readonly content: number
  /** It begins a line. */
  readonly ownLine: boolean
  /** Its first letter is a small one: so small letters tell nothing of what follows it. */
  readonly small: boolean
  /** The number that the sentence before began with, if it was like an item of a list. */
  readonly marker: number | undefined
  /** Where the last run without space begins. */
  readonly token: number
  /** The first colon in that; -1 if there is none. */
  readonly colon: number
}

const longest = 24
const delimiters = new Set(
  [...'"“”„‚‘«»‹›([{)]}*_~`/—–―¿¡<>|+=「」『』（）《》'].map((one) => one.charCodeAt(0)),
)

export interface Before {
  /** Letters, digits, stops, hyphens and apostrophes; '' if there are none, or too many. */
  readonly word: string
  readonly at: number
}

/** The word that ends before a place, within the sentence. */
export function wordBefore({ tape, content }: Passage, end: number): Before {
  let at = end
  while (at > content && end - at <= longest) {
    const code = tape.code(at - 1)
    if (isSpace(code) || delimiters.has(code)) break
    at--
  }
  return { word: end - at > longest ? '' : tape.slice(at, end), at }
}

/** The place behind the word before the space before a place; the place itself if there is no space, or too much. */
export function behindPrevious({ tape, content }: Passage, at: number): number {
  let end = at
  while (end > content && at - end < 4 && isSpace(tape.code(end - 1))) end--
  return end
}

const slash = 47

/** Whether a place is within a web address, by what stands before it. */
export function inAddress({ tape, token, colon }: Passage, at: number): boolean {
  if (colon >= token && colon + 2 < at)
    return tape.code(colon + 1) === slash && tape.code(colon + 2) === slash
  return token + 4 <= at && tape.slice(token, token + 4) === 'www.'
}
