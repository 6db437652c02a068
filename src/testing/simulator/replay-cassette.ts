import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, JsonValue } from '../../protocol/index.ts'
import { systemClock } from '../../protocol/index.ts'
import { type Cassette, type CassetteExchange, checkCassette, readChunk } from './cassette.ts'
import type { Closable } from './closable.ts'
import type { Op } from './delivery.ts'
import { listen, readBytes, whileOpen } from './http-listener.ts'
import { isJsonObject } from './json-object.ts'
import { perform } from './perform.ts'
import { blot, openPath, secretsIn } from './secrets.ts'

export interface ReplayCassetteOptions {
  /** Waits as long between two pieces as the provider did; without it, they come as fast as they can. */
  readonly paced?: boolean
  readonly clock?: Clock
}

export interface CassettePlayer extends Closable {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** The same with `/v1`. */
  readonly baseURL: string
  /** How many exchanges were not asked for yet. */
  readonly left: number
  /** How many connections are open now. */
  readonly sockets: number
}

/**
 * A server that gives the recorded answers again, in order, cut where they were. A request that is not the recorded one is
 * answered with 400, which says what is different.
 */
export async function replayCassette(
  recorded: Cassette | string,
  { paced = false, clock = systemClock }: ReplayCassetteOptions = {},
): Promise<CassettePlayer> {
  const { exchanges } = checkCassette(recorded, 'replayCassette')
  let next = 0

  async function onRequest(request: IncomingMessage, response: ServerResponse) {
    const { signal, off } = whileOpen(response, server.closing)
    try {
      const body = await readBytes(request)
      const exchange = exchanges[next]
      const difference = differenceOf(request, body, exchange, next)
      if (difference === undefined) next++
      await perform(
        difference === undefined && exchange ? deliveryOf(exchange, paced) : refusal(difference ?? ''),
        { response, clock, signal },
      )
    } finally {
      off()
    }
  }

  const server = await listen({ onRequest })
  return {
    url: server.url,
    baseURL: `${server.url}/v1`,
    get left() {
      return exchanges.length - next
    },
    get sockets() {
      return server.sockets
    },
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

function deliveryOf({ response }: CassetteExchange, paced: boolean) {
  const ops = response.chunks.flatMap((chunk, event): Op[] => [
    ...(paced && chunk.afterMs > 0 ? [{ op: 'wait', ms: chunk.afterMs } as const] : []),
    { op: 'write', bytes: readChunk(chunk), event },
  ])
  const last: Op = response.complete ? { op: 'end' } : { op: 'reset' }
  const headers = { ...response.headers, connection: 'close' }
  return { status: response.status, headers, ops: [{ op: 'headers' } as const, ...ops, last], faults: [] }
}

/** In the form of every provider at once, so that each client shows the message. */
function refusal(message: string) {
  const error = { type: 'invalid_request_error', message, param: null, code: 'cassette_mismatch' }
  const bytes = new TextEncoder().encode(JSON.stringify({ type: 'error', error }))
  const ops: Op[] = [{ op: 'headers' }, { op: 'write', bytes, event: 0 }, { op: 'end' }]
  return {
    status: 400,
    headers: { 'content-type': 'application/json', connection: 'close' },
    ops,
    faults: [],
  }
}

function differenceOf(
  { method = '', url = '', headers }: IncomingMessage,
  body: Uint8Array,
  exchange: CassetteExchange | undefined,
  index: number,
): string | undefined {
  if (!exchange) return `the cassette has ${index} exchanges and was asked for one more`
  const { request } = exchange
  const say = (what: string) => `request ${index} is not the one on the cassette: ${what}`
  if (method !== request.method) return say(`the method is ${method}, recorded was ${request.method}`)
  if (openPath(url) !== request.path) return say(`the path is ${openPath(url)}, recorded was ${request.path}`)
  const text = new TextDecoder().decode(blot(body, secretsIn(headers, url)))
  const place = differs(parsed(text), request.body, 'body')
  return place && say(place)
}

function parsed(text: string): JsonValue | undefined {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The first place where two values differ, with both of them; the order of keys is none. */
function differs(now: JsonValue | undefined, then: JsonValue | undefined, at: string): string | undefined {
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
  return now === then || isBlotted(now, then)
    ? undefined
    : `${at} is ${short(now)}, recorded was ${short(then)}`
}

/** Stars on the cassette stand for a secret of that length. */
function isBlotted(now: JsonValue | undefined, then: JsonValue | undefined): boolean {
  if (typeof now !== 'string' || typeof then !== 'string' || now.length !== then.length) return false
  return then.includes('******') && [...then].every((char, index) => char === '*' || char === [...now][index])
}

function short(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
