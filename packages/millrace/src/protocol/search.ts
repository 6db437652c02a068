import type { JsonObject, JsonValue } from './json.ts'

// A search finds a thread if `searchText(thread)` contains each of `searchWords(search)`.

interface Searchable {
  readonly id: string
  readonly agent: string
  readonly title?: string | undefined
  readonly metadata?: JsonObject | undefined
}

/**
 * What a search looks through: title, id, agent and the values of the metadata, in a form in which upper and lower case are the same
 * in every script, and so are the two ways to write an accent. It is well-formed and has no NUL, so that any database can keep it.
 */
export function searchText({ id, agent, title = '', metadata }: Searchable): string {
  // No word has white space in it, so none is found across two of them.
  return fold(`${title}\n${id}\n${agent}${metadata ? valuesOf(metadata) : ''}`)
}

/** The words of a search in the same form, the longest first: it is the one that fewest threads have. */
export function searchWords(search: string): readonly string[] {
  const words = fold(search).split(/\s+/).filter(Boolean)
  return [...new Set(words)].sort((one, other) => other.length - one.length)
}

/** Upper case, since lower case depends on what stands around it: `Σ` is `ς` at the end of a word, else `σ`. And `ß` is `SS`. */
function fold(text: string): string {
  const upper = text.toUpperCase()
  // Anything else is its own normal form. To find out takes a tenth of the time that normalizing does.
  if (!/\0|[\u0300-\uffff]/.test(upper)) return upper
  return upper.normalize('NFC').replace(/[\0\ud800-\udfff]/gu, escaped)
}

/** What no UTF-8 holds, or some databases end at. In small letters, which stand nowhere else, so that only itself is found by it. */
function escaped(char: string): string {
  const digits = [...char.charCodeAt(0).toString(16).padStart(4, '0')]
  return `z${digits.map((digit) => 'abcdefghijklmnop'[Number.parseInt(digit, 16)]).join('')}`
}

/** What a person could read in it; names of fields are not values. Level by level: it may be nested deeper than calls can be. */
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
