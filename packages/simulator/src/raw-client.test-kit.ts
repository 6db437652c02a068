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

/** The least that each provider takes. */
export const least = (wire: Wire, prompt = 'hi'): JsonObject =>
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

/** Sends JSON and gives the answer to `fetch`. */
export function post(sim: { readonly url: string }, wire: Wire, body: unknown, headers = keyHeaders(wire)) {
  return fetch(`${sim.url}${paths[wire]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export const ask = (sim: ProviderSimulator, wire: Wire, more: JsonObject = { stream: true }) =>
  post(sim, wire, { ...least(wire), ...more })

/** What a socket saw, with nothing between it and the test. */
export interface RawAnswer {
  /** The status line and the headers; empty if none came. */
  head: string
  /** The pieces of a chunked body, as the server cut them. */
  chunks: Buffer[]
  /** Every byte of the body so far. */
  readonly body: Buffer
  /** The body came to its end as HTTP has it. */
  whole: boolean
  /** How the connection ended; undefined while it is open. */
  ended: 'end' | 'reset' | undefined
  /** Resolves when the connection has ended. */
  readonly over: Promise<void>
  /** Resolves when so many bytes of the body are there. */
  received(bytes: number): Promise<void>
  destroy(): void
}

export function rawAsk(sim: ProviderSimulator, wire: Wire, more: JsonObject = { stream: true }): RawAnswer {
  const { hostname, port } = new URL(sim.url)
  const body = JSON.stringify({ ...least(wire), ...more })
  const headers = { host: 'localhost', 'content-length': Buffer.byteLength(body), ...keyHeaders(wire) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const socket = connect(Number(port), hostname)
  /** Bytes that are not taken apart yet. */
  let rest: Buffer = Buffer.alloc(0)
  let changed = () => {}

  const answer: RawAnswer = {
    head: '',
    chunks: [],
    get body() {
      return Buffer.concat([...answer.chunks, unfinished(rest)])
    },
    whole: false,
    ended: undefined,
    over: new Promise((resolve) => socket.on('close', () => resolve())),
    async received(count) {
      while (answer.body.length < count && answer.ended === undefined)
        await new Promise<void>((resolve) => {
          changed = resolve
        })
    },
    destroy: () => socket.destroy(),
  }

  socket.on('data', (data) => {
    rest = takeApart(answer, Buffer.concat([rest, data]))
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

/** Takes HTTP/1.1 with chunks apart (RFC 9112 7.1), and gives back what is not whole yet. */
function takeApart(answer: RawAnswer, bytes: Buffer): Buffer {
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

/** What there is of a chunk that has begun. */
function unfinished(rest: Buffer): Buffer {
  const line = rest.indexOf('\r\n')
  const size = line < 0 ? Number.NaN : Number.parseInt(rest.subarray(0, line).toString(), 16)
  return size > 0 ? rest.subarray(line + 2, line + 2 + size) : Buffer.alloc(0)
}

/** Waits, turn by turn of the event loop, until it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

/** The JSON of each event in a stream of plain LF events; `[DONE]` as text. */
export function eventsOf(text: string): (JsonObject | string)[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.slice(event.indexOf('data: ') + 'data: '.length))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
}
