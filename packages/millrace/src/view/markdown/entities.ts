import { cleaned } from './clean.ts'

// Entities that occur in prose, each followed by its character. Others stay as written, which is
// readable too.
const pairs =
  'amp& lt< gt> quot" apos\' nbsp\u00a0 copy© reg® trade™ hellip… mdash— ndash– lsquo‘ rsquo’ ldquo“ rdquo” bull• middot· deg° ' +
  'plusmn± times× minus− le≤ ge≥ ne≠ larr← rarr→ euro€'
const named = new Map(pairs.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)]))

/** The character for a reference such as `&amp;`; the reference itself if it is unknown. */
function decoded(whole: string, number: string | undefined, name: string): string {
  if (number === undefined) return named.get(name) ?? whole
  const code = Number(`0${number}`)
  // CommonMark 0.31, section 2.5: invalid code points become the replacement character.
  return code > 0 && code <= 0x10ffff ? cleaned(String.fromCodePoint(code).toWellFormed()) : '\ufffd'
}

/** The result is cleaned again, so that entities cannot smuggle in control characters. */
export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7}|x[\da-f]{1,6})|([a-z\d]{2,31}));/gi, decoded)
