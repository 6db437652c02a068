import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import type { Wire } from '../contract.ts'
import {
  idOf,
  type Render,
  type RenderOptions,
  renderChat,
  renderMessages,
  renderResponses,
  roundOf,
} from './render.ts'
import { type Scenario, scenarioOf, stampLength } from './scenario.ts'
import { varied } from './vary.ts'

/** Bytes that are written together, `waitMs` after the piece before. */
export interface Piece {
  readonly waitMs: number
  readonly bytes: Buffer
  /** Where to insert a time, and which delta it belongs to. */
  readonly stamps: readonly { readonly at: number; readonly index: number }[]
}

/** Chunks are cut without regard for events, as in a network. */
const chunkBytes = 4096
const renderers: Record<Wire, Render> = {
  chat: renderChat,
  responses: renderResponses,
  messages: renderMessages,
}

/** Renders each answer once, so that a request only has to write it. */
export function bodyStore() {
  const scenarios = new Map<string, Scenario | undefined>()
  const bodies = new Map<string, readonly Piece[]>()

  function scenario(name: string): Scenario | undefined {
    if (!scenarios.has(name)) scenarios.set(name, scenarioOf(name))
    return scenarios.get(name)
  }

  function body(name: string, wire: Wire, round: number, options: RenderOptions): readonly Piece[] {
    const key = [name, wire, round, wire === 'chat' && options.usage, options.obfuscation].join(' ')
    const known = bodies.get(key)
    if (known) return known
    const found = scenario(name)
    if (!found) return []
    const input = { name, scenario: found, round, parts: found.round(round), options }
    const frames = renderers[wire](input)
    const pieces = inPieces(found.isVaried ? varied(frames) : frames)
    bodies.set(key, pieces)
    return pieces
  }

  /** Renders the usual answers in advance, so that the first request does not wait. */
  function prepare(name: string, wire: Wire): void {
    const found = scenario(name)
    for (let round = 0; round < (found?.rounds ?? 0); round++)
      for (const usage of wire === 'chat' ? [true, false] : [false])
        body(name, wire, round, { usage, obfuscation: true })
  }

  return { scenario, body, prepare }
}

function inPieces(frames: ReturnType<Render>): Piece[] {
  const pieces: Piece[] = []
  let waitMs = 0
  let text = ''
  function flush() {
    if (text === '') return
    const stamps = [...text.matchAll(/~stamp~(\d{10})~/g)].map((match) => ({
      at: match.index,
      index: Number(match[1]),
    }))
    const all = Buffer.from(text)
    if (stamps.length > 0) pieces.push({ waitMs, bytes: all, stamps })
    else
      for (let at = 0; at < all.length; at += chunkBytes)
        pieces.push({ waitMs: at === 0 ? waitMs : 0, bytes: all.subarray(at, at + chunkBytes), stamps })
    text = ''
  }
  for (const frame of frames) {
    if (frame.waitMs > 0) {
      flush()
      waitMs = frame.waitMs
    } else if (text === '') waitMs = 0
    text += frame.text
  }
  flush()
  return pieces
}

/**
 * Writes as fast as the client reads, or at the pace of the scenario. Ends early if the client
 * disconnects.
 */
export async function deliver(response: ServerResponse, pieces: Iterable<Piece>): Promise<void> {
  const times: string[] = []
  let due = performance.now()
  for (const piece of pieces) {
    if (piece.waitMs > 0) {
      // Relative to the start, so that delays do not add up.
      due += piece.waitMs
      const late = performance.now() - due
      if (late < 0) await wait(-late)
    }
    if (response.destroyed) return
    const bytes = piece.stamps.length > 0 ? stamped(piece, times) : piece.bytes
    if (!response.write(bytes)) await drained(response)
  }
  response.end()
}

/** Resolves when the buffer has room again, or the client has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    function go() {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

/** The monotonic clock, which all processes of a machine share. */
const now = () => String(process.hrtime.bigint()).padStart(stampLength, '0')

function stamped({ bytes, stamps }: Piece, times: string[]): Buffer {
  const copy = Buffer.from(bytes)
  for (const { at, index } of stamps) {
    times[index] ??= now()
    copy.write(times[index], at, 'latin1')
  }
  return copy
}

/** What the server needs from a request. */
export interface Asked extends RenderOptions {
  /** Its number of tool results, including those before `previous_response_id`. */
  readonly results: number
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** Throws an error for the client if the request is invalid. */
export function readRequest(wire: Wire, text: string, callsPerRound: number): Asked {
  const body: unknown = JSON.parse(text)
  if (!isFields(body)) throw new Error('the body is not an object')
  if (body.stream !== true) throw new Error('only streams are served: "stream" must be true')
  const options = isFields(body.stream_options) ? body.stream_options : {}
  return {
    results: resultsIn[wire](body, callsPerRound),
    usage: options.include_usage === true,
    obfuscation: options.include_obfuscation !== false,
  }
}

const resultsIn: Record<Wire, (body: Fields, callsPerRound: number) => number> = {
  chat: ({ messages }) => listOf(messages).filter(({ role }) => role === 'tool').length,
  responses: ({ input, previous_response_id: previous }, callsPerRound) => {
    const before = typeof previous === 'string' ? roundOf(previous) * callsPerRound : 0
    return before + listOf(input).filter(({ type }) => type === 'function_call_output').length
  },
  messages: ({ messages }) =>
    listOf(messages).flatMap(({ content }) => listOf(content).filter(({ type }) => type === 'tool_result'))
      .length,
}

const wires: Record<string, Wire> = {
  'chat/completions': 'chat',
  responses: 'responses',
  messages: 'messages',
}

/**
 * Serves `/<scenario>/v1/<wire's path>`. The round follows from the request alone; the only state
 * is the number of requests, which `GET /requests` returns, and the size of the last one of each round
 * (`GET /sizes`). `GET` of a path renders its answers in advance.
 */
function listener(): RequestListener {
  const { scenario, body, prepare } = bodyStore()
  let requests = 0
  const sizes: number[] = []

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? ''
    if (url === '/requests') {
      response.end(String(requests))
      return
    }
    if (url === '/sizes') {
      response.end(JSON.stringify(sizes))
      return
    }
    const [, name = '', path = ''] = /^\/([^/]+)\/v1\/([^?]+)/.exec(url) ?? []
    const wire = wires[path]
    const found = scenario(name)
    if (request.method === 'GET' && wire && found) {
      prepare(name, wire)
      response.end('prepared')
      return
    }
    const sent = await text(request)
    if (!wire || !found) return reject(response, 404, `${url} does not exist`)
    requests++
    const { results, ...options } = readRequest(wire, sent, found.callsPerRound)
    const round = found.callsPerRound > 0 ? results / found.callsPerRound : 0
    if (!Number.isInteger(round) || round >= found.rounds)
      return reject(response, 400, `${results} tool results belong to no round of ${name}`)
    sizes[round] = Buffer.byteLength(sent)
    response.writeHead(200, headers(wire, requests))
    await deliver(response, body(name, wire, round, options))
  }

  return (request, response) => {
    answer(request, response).catch((error: Error) => reject(response, 400, error.message))
  }
}

function headers(wire: Wire, request: number): Record<string, string> {
  const id = idOf('req_', 32, request)
  const common = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': wire === 'messages' ? 'no-cache' : 'no-cache, no-transform',
    server: 'cloudflare',
    'cf-ray': '99a0b1c2d3e4f506-AMS',
  }
  return wire === 'messages'
    ? { ...common, 'request-id': id, 'anthropic-organization-id': 'org-bench' }
    : {
        ...common,
        'x-request-id': id,
        'openai-version': '2020-10-01',
        'openai-organization': 'org-bench',
        'openai-processing-ms': '120',
      }
}

function reject(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      type: 'error',
      error: { type: 'invalid_request_error', message, param: null, code: null },
    }),
  )
}

export const serve = () => listen(createServer({ keepAliveTimeout: 60_000 }, listener()))

/** Listens on this machine only; resolves with the address. */
export function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: 0, host: '127.0.0.1', backlog: 2048 }, () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })
}
