import { cleaned } from './clean.ts'

// Those that are met in prose, each before its character; the others stay as they were written, which a reader understands as well.
const pairs =
  'amp& lt< gt> quot" apos\' nbsp\u00a0 copy© reg® trade™ hellip… mdash— ndash– lsquo‘ rsquo’ ldquo“ rdquo” bull• middot· deg° ' +
  'plusmn± times× minus− le≤ ge≥ ne≠ larr← rarr→ euro€'
const named = new Map(pairs.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)]))

/** The character that a reference such as `&amp;` stands for; the reference itself if it is not known. */
function decoded(whole: string, number: string | undefined, name: string): string {
  if (number === undefined) return named.get(name) ?? whole
  const code = Number(`0${number}`)
  // CommonMark 0.31, section 2.5: what is no character is the replacement character.
  return code > 0 && code <= 0x10ffff ? cleaned(String.fromCodePoint(code).toWellFormed()) : '\ufffd'
}

/** A control character does not come back in this way: what is decoded is cleaned again. */
export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7}|x[\da-f]{1,6})|([a-z\d]{2,31}));/gi, decoded)
