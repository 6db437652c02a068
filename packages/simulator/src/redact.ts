import type { JsonValue } from 'millrace'
import { isJsonObject } from './json-object.ts'

/** The minimum number of stars for a secret in a text. Fewer may be part of the text itself. */
export const minStars = 6

/** Replaces secrets with stars, however they are encoded. */
export interface Redaction {
  /** Keeps the length, so that chunk boundaries stay in place. */
  bytes(bytes: Uint8Array): Uint8Array
  text(text: string): string
  /** For a header value, in which Node has one character per byte. */
  header(value: string): string
  json(value: JsonValue): JsonValue
}

export function redactor(secrets: Iterable<string>): Redaction {
  const patterns = [...new Set(secrets)].filter((secret) => secret !== '').map(patternOf)

  /**
   * The spans of all secrets, in order, with adjacent ones joined. All are searched in the original
   * text.
   */
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
      clean += value.slice(at, from) + '*'.repeat(Math.max(minStars, to - from))
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
      const redacted = Buffer.from(bytes)
      for (const { from, to } of spansIn(redacted.toString('latin1'))) redacted.fill('*', from, to)
      return redacted
    },
    text,
    header,
    json,
  }
}

/**
 * Matches the secret in plain text, in JSON (`"` as `\"`, `/` as `\/`, anything as `\u0022`, and
 * all of it escaped again in tool call arguments) and in a URL (`%22`), with one character per
 * byte.
 */
function patternOf(secret: string): RegExp {
  // A run of backslashes is one unit: trying all ways to divide it would take exponential time.
  const parts = secret.match(/\\+|[^\\]/gsu) ?? []
  return new RegExp(parts.map((part) => `(?:${formsOf(part).join('|')})`).join(''), 'g')
}

/** Matches only at the start of a run of backslashes, so that a long one is read once. */
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
    // A header may also be in Latin-1.
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
