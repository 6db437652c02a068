import { connect } from 'node:net'
import type { JsonObject } from 'millrace'
import type { ProviderSimulator } from './provider-simulator.ts'
import type { Wire } from './wire.ts'

export const wires: readonly Wire[] = ['openai-chat', 'openai-responses', 'anthropic']

const paths: Record<Wire, string> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  anthropic: '/v1/messages',
}

/** A minimal request for each provider. */
export const minimalRequest = (wire: Wire, prompt = 'hi'): JsonObject =>
  wire === 'openai-responses'
    ? { model: 'm', input: prompt }
    : {
        model: 'm',
        messages: [{ role: 'user', content: prompt }],
        ...(wire === 'anthropic' && { max_tokens: 99 }),
      }

export const keyHeaders = (wire: Wire): Record<string, string> =>
  wire === 'anthropic'
    ? { 'x-api-key': 'sk-test', 'anthropic-version': '2023-06-01' }
    : { authorization: 'Bearer sk-test' }

/** Sends JSON with `fetch` and returns the response. */
export function post(sim: { readonly url: string }, wire: Wire, body: unknown, headers = keyHeaders(wire)) {
  return fetch(`${sim.url}${paths[wire]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export const ask = (sim: ProviderSimulator, wire: Wire, more: JsonObject = { stream: true }) =>
  post(sim, wire, { ...minimalRequest(wire), ...more })

/** What a raw socket received. */
export interface RawResponse {
  /** The status line and the headers, or empty. */
  head: string
  /** The chunks of the body as the server sent them. */
  chunks: Buffer[]
  /** Every byte of the body so far. */
  readonly body: Buffer
  /** The body was complete according to HTTP. */
  whole: boolean
  /** How the connection ended; undefined while it is open. */
  ended: 'end' | 'reset' | undefined
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>
  /** Resolves when this many bytes of the body have arrived. */
  received(bytes: number): Promise<void>
  destroy(): void
}

export function rawAsk(sim: ProviderSimulator, wire: Wire, more: JsonObject = { stream: true }): RawResponse {
  const { hostname, port } = new URL(sim.url)
  const body = JSON.stringify({ ...minimalRequest(wire), ...more })
  const headers = { host: 'localhost', 'content-length': Buffer.byteLength(body), ...keyHeaders(wire) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const socket = connect(Number(port), hostname)
  /** Bytes that were not parsed yet. */
  let rest: Buffer = Buffer.alloc(0)
  let changed = () => {}

  const answer: RawResponse = {
    head: '',
    chunks: [],
    get body() {
      return Buffer.concat([...answer.chunks, unfinished(rest)])
    },
    whole: false,
    ended: undefined,
    closed: new Promise((resolve) => socket.on('close', () => resolve())),
    async received(count) {
      while (answer.body.length < count && answer.ended === undefined)
        await new Promise<void>((resolve) => {
          changed = resolve
        })
    },
    destroy: () => socket.destroy(),
  }

  socket.on('data', (data) => {
    rest = parseChunks(answer, Buffer.concat([rest, data]))
    changed()
  })
  socket.on('end', () => {
    answer.ended ??= 'end'
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') answer.ended = 'reset'
  })
  socket.on('close', () => changed())
  socket.on('connect', () =>
    socket.write(`POST ${paths[wire]} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`),
  )
  return answer
}

/** Parses chunked HTTP/1.1 (RFC 9112 7.1) and returns the incomplete rest. */
function parseChunks(answer: RawResponse, bytes: Buffer): Buffer {
  let at = 0
  if (answer.head === '') {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) return bytes
    answer.head = bytes.subarray(0, end).toString()
    at = end + 4
  }
  for (;;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return bytes.subarray(at)
    const size = Number.parseInt(bytes.subarray(at, line).toString(), 16)
    const end = line + 2 + size
    if (size === 0) answer.whole = true
    if (size === 0 || end + 2 > bytes.length) return bytes.subarray(at)
    answer.chunks.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}

/** The data of an incomplete chunk. */
function unfinished(rest: Buffer): Buffer {
  const line = rest.indexOf('\r\n')
  const size = line < 0 ? Number.NaN : Number.parseInt(rest.subarray(0, line).toString(), 16)
  return size > 0 ? rest.subarray(line + 2, line + 2 + size) : Buffer.alloc(0)
}

/** Waits, one event loop turn at a time, until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

/** The JSON of each event in a stream with LF line ends; `[DONE]` as text. */
export function eventsOf(text: string): (JsonObject | string)[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.slice(event.indexOf('data: ') + 'data: '.length))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
}
