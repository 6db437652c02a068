// Character kinds by UTF-16 code unit. The scanner looks up every character, so this is a table.

export const kind = {
  plain: 0,
  space: 1,
  newline: 2,
  /** Ends a sentence only before space or the end. */
  softStop: 3,
  /** Ends a sentence even without space: scripts with these stops do not need it. */
  hardStop: 4,
  /** A Markdown delimiter, quotation mark or bracket: needs tracking. */
  delimiter: 5,
} as const

const table = new Uint8Array(0x10000)

function setKind(characters: string, value: number) {
  for (const character of characters) table[character.charCodeAt(0)] = value
}

setKind(' \t\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006', kind.space)
setKind('\u2007\u2008\u2009\u200a\u202f\u205f\u3000\ufeff', kind.space)
setKind('\n\u2028\u2029', kind.newline)
setKind('.!?…‼⁇⁈⁉‽', kind.softStop)
// Chinese and Japanese, Indic, Arabic and Urdu, Armenian, Khmer, Burmese, Ethiopic, Mongolian,
// Canadian syllabics, Lisu, Vai.
setKind('。．！？｡।॥۔؟։។៕။።፧፨᠃᠉᙮꓿꘎', kind.hardStop)
setKind('*_~`"“”„‚‘«»[]<「」『』《》〈〉（）【】;:፡', kind.delimiter)

export function kindOf(code: number): number {
  return table[code] ?? kind.plain
}

export function isSpace(code: number): boolean {
  const found = kindOf(code)
  return found === kind.space || found === kind.newline
}

export function isStop(code: number): boolean {
  const found = kindOf(code)
  return found === kind.softStop || found === kind.hardStop
}

const setOf = (characters: string) => new Set([...characters].map((one) => one.charCodeAt(0)))

/** These belong to the sentence whose stop they follow. */
export const closingQuotes = setOf('"\'”’»›」』＂｣')
export const closingBrackets = setOf(')]}）】》〉〕］｝')
/** Closing too, if the sentence has an open one. */
export const marks = setOf('*_~`')
export const openings = setOf('"\'“‘„‚«‹»([{¿¡「『《〈（【*_~`')
export const dashes = setOf('-–—―')
/** These never start a sentence. */
export const continuing = setOf(',;:،؛、，；：·—―～')

/** A speaker may pause after these. */
export const clauseMarks = setOf(',;:)—–،؛、，；：）·၊፣፤')

const lower = /[\p{Ll}--[\u10d0-\u10ff]]/v
const upper = /[\p{Lu}\p{Lt}]/u
const letter = /[\p{L}\p{M}]/u
const digit = /\p{Nd}/u
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const ideographic = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const pictograph = /(?![©®™‼⁉↔↕])[\p{Extended_Pictographic}\p{Regional_Indicator}]/u

/** `letter`: scripts without case, and Georgian, whose sentences do not start with capitals. */
export type Case = 'lower' | 'upper' | 'letter' | 'digit' | 'none'

export function caseOf(character: string): Case {
  if (lower.test(character)) return 'lower'
  if (upper.test(character)) return 'upper'
  if (letter.test(character)) return 'letter'
  return digit.test(character) ? 'digit' : 'none'
}

export const isLetter = (character: string) => letter.test(character)
/** A character of a script without spaces between words. */
export const isUnspaced = (character: string) => unspaced.test(character)
/** A character of Chinese or Japanese. */
export const isIdeographic = (character: string) => ideographic.test(character)
export const isPictograph = (character: string) => pictograph.test(character)

export const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff
