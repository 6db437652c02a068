import type { JsonObject, JsonValue } from './json.ts'

// A search finds a thread if `searchText(thread)` or the folded text of a message or an answer
// contains each of `searchWords(search)`.

interface Searchable {
  readonly id: string
  readonly agent: string
  readonly title?: string | undefined
  readonly metadata?: JsonObject | undefined
}

/**
 * The text that a search matches against: title, id, agent and the values of the metadata. Case is
 * folded in every script, and so are the two encodings of accents. It is well-formed and has no
 * NUL, so that any database can store it.
 */
export function searchText({ id, agent, title = '', metadata }: Searchable): string {
  // Search words contain no whitespace, so none can match across two fields.
  return foldText(`${title}\n${id}\n${agent}${metadata ? valuesOf(metadata) : ''}`)
}

/**
 * The words of a search in the same form, longest first: it is likely to match the fewest threads.
 */
export function searchWords(search: string): readonly string[] {
  const words = foldText(search).split(/\s+/).filter(Boolean)
  return [...new Set(words)].sort((one, other) => other.length - one.length)
}

/**
 * Upper case, since lower case depends on context: `Σ` is `ς` at the end of a word, else `σ`. And
 * `ß` becomes `SS`.
 */
export function foldText(text: string): string {
  const upper = text.toUpperCase()
  // Anything else is already normalized. This test takes a tenth of the time of `normalize`.
  if (!/\0|[\u0300-\uffff]/.test(upper)) return upper
  return upper.normalize('NFC').replace(/[\0\ud800-\udfff]/gu, escaped)
}

/**
 * Escapes what UTF-8 cannot encode, and NUL, at which some databases stop. In lower case, which
 * occurs nowhere else, so that an escape matches only itself.
 */
function escaped(char: string): string {
  const digits = [...char.charCodeAt(0).toString(16).padStart(4, '0')]
  return `z${digits.map((digit) => 'abcdefghijklmnop'[Number.parseInt(digit, 16)]).join('')}`
}

/**
 * All values, without field names. Iterative: metadata may be nested deeper than the stack allows.
 */
function valuesOf(metadata: JsonObject): string {
  let values = ''
  const level: JsonValue[] = [metadata]
  for (const value of level) {
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) level.push(inner)
    else if (value !== null) values += `\n${value}`
  }
  return values
}
