import type { IncomingMessage } from 'node:http'
import type { JsonValue } from 'millrace'
import { blotOf, leastStars } from './blot.ts'
import type { CassetteExchange } from './cassette.ts'
import { isJsonObject } from './json-object.ts'
import { parametersIn, secretsIn, withoutParameters } from './secrets.ts'

/** Why a request is not the recorded one, if it is not. Headers are left aside: no two clients send the same. */
export function differenceOf(
  { method = '', url = '', headers }: IncomingMessage,
  body: Uint8Array,
  { request }: CassetteExchange,
  index: number,
): string | undefined {
  const say = (what: string) => `request ${index} is not the one on the cassette: ${what}`
  const blot = blotOf([...secretsIn(headers), ...parametersIn(url)])
  if (method !== request.method) return say(`the method is ${method}, recorded was ${request.method}`)
  const path = withoutParameters(url)
  if (!fits(path, request.path)) return say(`the path is ${blot.text(path)}, recorded was ${request.path}`)
  const found = differs(parsed(new TextDecoder().decode(body)), request.body, 'body')
  if (!found) return undefined
  const now = found.now === undefined ? undefined : blot.json(found.now)
  return say(`${blot.text(found.at)} is ${short(now)}, recorded was ${short(found.then)}`)
}

function parsed(text: string): JsonValue | undefined {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface Difference {
  readonly at: string
  readonly now: JsonValue | undefined
  readonly then: JsonValue | undefined
}

/** The first place where two values differ, with both of them; the order of keys is none. */
function differs(
  now: JsonValue | undefined,
  then: JsonValue | undefined,
  at: string,
): Difference | undefined {
  if (Array.isArray(now) && Array.isArray(then)) {
    for (let index = 0; index < Math.max(now.length, then.length); index++) {
      const place = differs(now[index], then[index], `${at}[${index}]`)
      if (place) return place
    }
    return undefined
  }
  if (isJsonObject(now) && isJsonObject(then)) {
    for (const key of new Set([...Object.keys(then), ...Object.keys(now)])) {
      const place = differs(now[key], then[key], `${at}.${key}`)
      if (place) return place
    }
    return undefined
  }
  const isText = typeof now === 'string' || typeof now === 'number'
  const same = now === then || (isText && typeof then === 'string' && fits(String(now), then))
  return same ? undefined : { at, now, then }
}

const stars = new RegExp(`\\*{${leastStars},}`)

/**
 * Stars on the cassette stand for a secret, of whatever length: another key will do. What stands between them must come in the
 * same order, found from left to right in one pass.
 */
function fits(now: string, then: string): boolean {
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

function short(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
