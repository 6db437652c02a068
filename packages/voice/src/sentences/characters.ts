// What single characters are, by their UTF-16 code units. The scanner asks for each one that comes, so it is a look into a table.

export const kind = {
  plain: 0,
  space: 1,
  newline: 2,
  /** Ends a sentence only where space or the end follows. */
  softStop: 3,
  /** Ends one by itself: the scripts that have these put no space behind them, or need not. */
  hardStop: 4,
  /** May be a mark of Markdown, a quotation mark, a bracket: something is to be remembered of it. */
  sign: 5,
} as const

const table = new Uint8Array(0x10000)

function enter(characters: string, value: number) {
  for (const character of characters) table[character.charCodeAt(0)] = value
}

enter(' \t\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006', kind.space)
enter('\u2007\u2008\u2009\u200a\u202f\u205f\u3000\ufeff', kind.space)
enter('\n\u2028\u2029', kind.newline)
enter('.!?…‼⁇⁈⁉‽', kind.softStop)
// Chinese and Japanese, Indic, Arabic and Urdu, Armenian, Khmer, Burmese, Ethiopic, Mongolian, Canadian syllabics, Lisu, Vai.
enter('。．！？｡।॥۔؟։។៕။።፧፨᠃᠉᙮꓿꘎', kind.hardStop)
enter('*_~`"“”„‚‘«»[]<「」『』《》〈〉（）【】;:፡', kind.sign)

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

/** They belong to the sentence whose stop they follow. */
export const closingQuotes = setOf('"\'”’»›」』＂｣')
export const closingBrackets = setOf(')]}）】》〉〕］｝')
/** Closing too, if the sentence has an open one. */
export const marks = setOf('*_~`')
export const openings = setOf('"\'“‘„‚«‹»([{¿¡「『《〈（【*_~`')
export const dashes = setOf('-–—―')
/** What never begins a sentence. */
export const continuing = setOf(',;:،؛、，；：·—―～')

/** A speaker may breathe behind them. */
export const clauseMarks = setOf(',;:)—–،؛、，；：）·၊፣፤')

const lower = /[\p{Ll}--[\u10d0-\u10ff]]/v
const upper = /[\p{Lu}\p{Lt}]/u
const letter = /[\p{L}\p{M}]/u
const digit = /\p{Nd}/u
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const ideographic = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const pictograph = /(?![©®™‼⁉↔↕])[\p{Extended_Pictographic}\p{Regional_Indicator}]/u

/** Letters of scripts without case, and of Georgian, whose capitals begin no sentences, are `letter`. */
export type Case = 'lower' | 'upper' | 'letter' | 'digit' | 'none'

export function caseOf(character: string): Case {
  if (lower.test(character)) return 'lower'
  if (upper.test(character)) return 'upper'
  if (letter.test(character)) return 'letter'
  return digit.test(character) ? 'digit' : 'none'
}

export const isLetter = (character: string) => letter.test(character)
/** Of a script that puts no spaces between words. */
export const isUnspaced = (character: string) => unspaced.test(character)
/** Of Chinese or Japanese. */
export const isIdeographic = (character: string) => ideographic.test(character)
export const isPictograph = (character: string) => pictograph.test(character)

export const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff
