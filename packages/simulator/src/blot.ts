import type { JsonValue } from 'millrace'
import { isJsonObject } from './json-object.ts'

/** So many stars at least stand for a secret in a text: fewer are somebody's own. */
export const leastStars = 6

/** Puts stars over secrets, however they are written. */
export interface Blot {
  /** As many stars as there were bytes: nothing moves, and no cut between pieces with it. */
  bytes(bytes: Uint8Array): Uint8Array
  text(text: string): string
  /** A header's value, in which Node has one character for each byte. */
  header(value: string): string
  json(value: JsonValue): JsonValue
}

export function blotOf(secrets: Iterable<string>): Blot {
  const patterns = [...new Set(secrets)].filter((secret) => secret !== '').map(patternOf)

  /** Where a secret stands, in order, those that touch each other joined. Every secret is looked for in what was there. */
  function spansIn(bytes: string): { from: number; to: number }[] {
    const found = patterns
      .flatMap((pattern) => [...bytes.matchAll(pattern)])
      .map(({ index, 0: match }) => ({ from: index, to: index + match.length }))
      .sort((a, b) => a.from - b.from)
    const joined: { from: number; to: number }[] = []
    for (const span of found) {
      const last = joined.at(-1)
      if (last && span.from <= last.to) last.to = Math.max(last.to, span.to)
      else joined.push(span)
    }
    return joined
  }

  function header(value: string): string {
    let clean = ''
    let at = 0
    for (const { from, to } of spansIn(value)) {
      clean += value.slice(at, from) + '*'.repeat(Math.max(leastStars, to - from))
      at = to
    }
    return clean + value.slice(at)
  }

  function text(whole: string): string {
    const bytes = Buffer.from(whole).toString('latin1')
    const clean = header(bytes)
    return clean === bytes ? whole : Buffer.from(clean, 'latin1').toString()
  }

  function json(value: JsonValue): JsonValue {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : text(String(value))
    if (Array.isArray(value)) return value.map(json)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), json(inner)]))
  }

  return {
    bytes(bytes) {
      const blotted = Buffer.from(bytes)
      for (const { from, to } of spansIn(blotted.toString('latin1'))) blotted.fill('*', from, to)
      return blotted
    },
    text,
    header,
    json,
  }
}

/**
 * The secret as it stands in plain text, in JSON (`"` as `\"`, `/` as `\/`, anything as `\u0022`; in the arguments of a call all of it
 * escaped once more) and in an address (`%22`), as one character for each byte.
 */
function patternOf(secret: string): RegExp {
  // Backslashes in a row are one thing: to try every way to share them out would take forever.
  const parts = secret.match(/\\+|[^\\]/gsu) ?? []
  return new RegExp(parts.map((part) => `(?:${formsOf(part).join('|')})`).join(''), 'g')
}

/** Tried only where a row of backslashes begins, so that a long one is read once. */
const slashes = '(?<!\\\\)\\\\+'

function formsOf(part: string): string[] {
  const bytes = Buffer.from(part)
  const units = Array.from({ length: part.length }, (_, index) => part.charCodeAt(index))
  const inJson = units.map((unit) => `${slashes}u${hex(unit, 4)}`).join('')
  const inAddress = [...bytes].map((byte) => `%${hex(byte, 2)}`).join('')
  if (part.startsWith('\\')) return [`(?<!\\\\)\\\\{${part.length},}`, inJson, inAddress]
  const escaped = /^"\\([a-z"])"$/.exec(JSON.stringify(part))?.[1] ?? (part === '/' ? '/' : undefined)
  return [
    quote(bytes.toString('latin1')),
    // A header may be in Latin-1 as well.
    ...(bytes.length === 2 && Number(units[0]) < 256 ? [part] : []),
    ...(escaped ? [`${slashes}${escaped}`] : []),
    inJson,
    inAddress,
    ...(part === ' ' ? ['\\+'] : []),
  ]
}

const hex = (code: number, digits: number) =>
  code
    .toString(16)
    .padStart(digits, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

const quote = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
