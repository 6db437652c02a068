import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, JsonObject, JsonValue } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { anObject, anything, someText, systemClock, yesOrNo } from 'millrace/internal'
import { checkKitOptions, checkScript, checkSizes, clockProblem } from 'millrace/internal/testing'
import type { ScriptRound } from 'millrace/testing'
import { answerTo } from './answer.ts'
import { storedResponses } from './background.ts'
import type { Closable } from './closable.ts'
import { deliveryOf } from './delivery.ts'
import { checkFaults } from './fault-check.ts'
import type { Fault } from './faults.ts'
import { isBreaking } from './faults.ts'
import { listen, openSignal, readBytes } from './http-listener.ts'
import { issuedTokens } from './issued-tokens.ts'
import { type PromptCacheOptions, promptCache } from './prompt-cache.ts'
import { roundsOf } from './rounds.ts'
import { routeOf } from './routes.ts'
import { sendDelivery } from './send-delivery.ts'
import type { Wire } from './wire.ts'

export interface ProviderSimulatorOptions {
  /** Faults to inject. Default: none. */
  readonly faults?: readonly Fault[]
  /** The number of characters per delta, or a list of numbers to cycle through. */
  readonly deltaChars?: number | readonly number[]
  /** The only accepted API key. Default: any key is accepted. */
  readonly apiKey?: string
  /** False accepts invalid requests. */
  readonly checks?: boolean
  /**
   * The prompt cache, which is part of the usage that the simulator estimates. False reports no
   * cached tokens.
   */
  readonly promptCache?: PromptCacheOptions | false
  readonly clock?: Clock
}

/** One request, and how it was answered. */
export interface SimulatedRequest {
  /** Absent if the request is not for a generation or a stored response. */
  readonly wire?: Wire
  readonly method: string
  readonly path: string
  /** Names are in lower case; keys and cookies are replaced by `[removed]`. */
  readonly headers: Readonly<Record<string, string>>
  /** The JSON body, or text if it is not JSON. */
  readonly body?: JsonValue
  /** Absent until the response starts, or if it never does. */
  readonly status?: number
  /** The faults that had an effect. */
  readonly faults: readonly Fault[]
}

export interface ProviderSimulator extends Closable {
  /** `http://127.0.0.1:PORT`, the base URL for Anthropic's SDK. */
  readonly url: string
  /** The same with `/v1`, the base URL for OpenAI's SDK. */
  readonly baseURL: string
  /** All requests, in order of arrival. */
  readonly requests: readonly SimulatedRequest[]
  /** The number of open connections. */
  readonly sockets: number
  /** Resolves when no connection is open. */
  idle(): Promise<void>
}

type Script = readonly ScriptRound[] | ((request: SimulatedRequest, index: number) => ScriptRound)

const table: OptionTable<ProviderSimulatorOptions> = {
  faults: anything,
  deltaChars: anything,
  apiKey: someText,
  checks: yesOrNo,
  promptCache: (value) => value !== false && anObject(value),
  clock: clockProblem,
}

/**
 * A local HTTP server that implements Chat Completions, Responses and Messages, streamed or not,
 * and plays a script: each request gets the next round. Requests after the last round get a 400.
 * Every response closes its connection.
 */
export async function providerSimulator(
  script: Script,
  options: ProviderSimulatorOptions = {},
): Promise<ProviderSimulator> {
  checkKitOptions(options, table, 'providerSimulator')
  const { faults = [], deltaChars = 12, apiKey, checks = true, clock = systemClock } = options
  const sizes = checkSizes(deltaChars, 'providerSimulator')
  checkFaults(faults, 'providerSimulator')
  checkScript(script, 'providerSimulator')
  const rounds = roundsOf(script)
  const issued = issuedTokens()
  const cache = promptCache(options.promptCache)
  const requests: { -readonly [Key in keyof SimulatedRequest]: SimulatedRequest[Key] }[] = []
  /** Connections without a request yet. Each will become one. */
  const expected = new Set<Socket>()
  let ids = 0
  const nextId = (prefix: string) => `${prefix}${String(++ids).padStart(24, '0')}`
  const faultsOf = (index: number) => faults.filter(({ request = index }) => request === index)

  function onConnection(socket: Socket) {
    const refusals = faultsOf(requests.length + expected.size).filter(({ kind }) => kind === 'refuse')
    if (refusals.length > 0) {
      requests.push({ method: '', path: '', headers: {}, faults: refusals })
      socket.resetAndDestroy()
      return
    }
    expected.add(socket)
    socket.once('close', () => expected.delete(socket))
  }

  async function onRequest(request: IncomingMessage, response: ServerResponse, socket: Socket) {
    expected.delete(socket)
    const index = requests.length
    const { method = '', url: path = '' } = request
    const record: (typeof requests)[number] = { method, path, headers: cleanHeaders(request), faults: [] }
    requests.push(record)
    const { signal, off } = openSignal(response, server.closing)
    try {
      const bytes = await readBytes(request)
      const text = new TextDecoder().decode(bytes)
      const route = routeOf(method, path, record.headers)
      if (route.kind === 'generate' || route.kind === 'stored') record.wire = route.wire
      const body = parseJson(text)
      if (text) record.body = body ?? text
      const planned = faultsOf(index).filter(({ kind }) => kind !== 'refuse')
      const {
        reply,
        faults: before,
        round,
        stored,
      } = answerTo({
        route,
        body,
        text: isUtf8(bytes) ? text : undefined,
        keys: keysOf(request),
        headers: record.headers,
        faults: planned,
        nextRound: (json) => rounds.next(record, json),
        ...(apiKey !== undefined && { apiKey }),
        checks,
        issued,
        responses,
        cache,
        nextId,
        sizes,
      })
      const delivery = deliveryOf(reply, planned, route.wire)
      if (delivery.ops.some(({ op }) => op === 'headers')) record.status = delivery.status
      record.faults = planned.filter((one) => before.includes(one) || delivery.faults.includes(one))
      const broken = record.faults.some(isBreaking)
      if (round && broken) rounds.restore(round.index, round.body)
      if (stored && !broken) responses.keep(stored)
      await sendDelivery(delivery, { response, clock, signal })
    } finally {
      off()
    }
  }

  const server = await listen({ onRequest, onConnection })
  const responses = storedResponses({ clock, closing: server.closing })
  return {
    url: server.url,
    baseURL: `${server.url}/v1`,
    requests,
    get sockets() {
      return server.sockets
    },
    idle: server.idle,
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

function parseJson(text: string): JsonObject | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'cookie', 'x-goog-api-key']

function cleanHeaders({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    secretHeaders.includes(name) ? '[removed]' : String(value),
  ])
  return Object.fromEntries(entries)
}

/** The API key of a request, from either header. */
function keysOf({ headers }: IncomingMessage): { readonly bearer?: string; readonly apiKey?: string } {
  const bearer = headers.authorization?.replace(/^Bearer /i, '').trim()
  const apiKey = [headers['x-api-key'] ?? headers['api-key']].flat()[0]
  return { ...(bearer && { bearer }), ...(apiKey && { apiKey }) }
}
