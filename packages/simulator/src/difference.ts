import type { IncomingMessage } from 'node:http'
import type { JsonValue } from 'millrace'
import type { CassetteExchange } from './cassette.ts'
import { isJsonObject } from './json-object.ts'
import { minStars, redactor } from './redact.ts'
import { parametersIn, secretsIn, withoutParameters } from './secrets.ts'

/**
 * Describes how a request differs from the recorded one, if it does. Headers are ignored: they vary
 * between clients.
 */
export function differenceOf(
  { method = '', url = '', headers }: IncomingMessage,
  body: Uint8Array,
  { request }: CassetteExchange,
  index: number,
): string | undefined {
  const describe = (what: string) => `request ${index} does not match the cassette: ${what}`
  const redaction = redactor([...secretsIn(headers), ...parametersIn(url)])
  if (method !== request.method) return describe(`the method is ${method}, recorded was ${request.method}`)
  const path = withoutParameters(url)
  if (!matches(path, request.path))
    return describe(`the path is ${redaction.text(path)}, recorded was ${request.path}`)
  const found = findDifference(parseJson(new TextDecoder().decode(body)), request.body, 'body')
  if (!found) return undefined
  const now = found.actual === undefined ? undefined : redaction.json(found.actual)
  return describe(`${redaction.text(found.at)} is ${truncate(now)}, recorded was ${truncate(found.recorded)}`)
}

function parseJson(text: string): JsonValue | undefined {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface Difference {
  readonly at: string
  readonly actual: JsonValue | undefined
  readonly recorded: JsonValue | undefined
}

/** The first difference between two values. The order of keys does not matter. */
function findDifference(
  actual: JsonValue | undefined,
  recorded: JsonValue | undefined,
  at: string,
): Difference | undefined {
  if (Array.isArray(actual) && Array.isArray(recorded)) {
    for (let index = 0; index < Math.max(actual.length, recorded.length); index++) {
      const found = findDifference(actual[index], recorded[index], `${at}[${index}]`)
      if (found) return found
    }
    return undefined
  }
  if (isJsonObject(actual) && isJsonObject(recorded)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(actual)])) {
      const found = findDifference(actual[key], recorded[key], `${at}.${key}`)
      if (found) return found
    }
    return undefined
  }
  const isText = typeof actual === 'string' || typeof actual === 'number'
  const same =
    actual === recorded || (isText && typeof recorded === 'string' && matches(String(actual), recorded))
  return same ? undefined : { at, actual, recorded }
}

const stars = new RegExp(`\\*{${minStars},}`)

/**
 * Stars on the cassette stand for a secret of any length, so that another key matches too. The text
 * between them must appear in the same order, found from left to right in one pass.
 */
function matches(now: string, then: string): boolean {
  if (now === then) return true
  const parts = then.split(stars)
  const first = parts.shift() ?? ''
  const last = parts.pop()
  if (last === undefined || !now.startsWith(first) || !now.endsWith(last)) return false
  let at = first.length
  for (const part of parts) {
    const found = now.indexOf(part, at + 1)
    if (found < 0) return false
    at = found + part.length
  }
  return at < now.length - last.length
}

function truncate(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
