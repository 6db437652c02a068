import { once } from 'node:events'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import type { ModelEvent, ModelStream } from '../../protocol/index.ts'
import { MillraceError } from '../../protocol/index.ts'
import * as dispatcher from './dispatcher.ts'
import type { HttpCall } from './http.ts'
import type { Fetch } from './http-response.ts'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

export interface Loopback extends AsyncDisposable {
  readonly url: string
  readonly host: string
  readonly requests: readonly Seen[]
  /** Resolves with the first incoming socket. */
  readonly connected: Promise<Socket>
  /** Resolves when the first incoming socket is closed. */
  readonly disconnected: Promise<void>
}

/** A server on the loopback interface. `await using` closes it. */
export function httpServer(answer: RequestListener): Promise<Loopback> {
  const requests: Seen[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method, url, headers } = request
    requests.push({ method, url, headers, body: JSON.parse(body) })
    answer(request, response)
  })
  return listen(server, requests)
}

/** The same for raw TCP, to send invalid HTTP. */
export function tcpServer(onRequest: (socket: Socket) => void): Promise<Loopback> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => onRequest(socket))
  })
  return listen(server, [])
}

async function listen(server: Server, requests: readonly Seen[]): Promise<Loopback> {
  const sockets = new Set<Socket>()
  const connected = Promise.withResolvers<Socket>()
  const hungUp = Promise.withResolvers<void>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    connected.resolve(socket)
    socket.once('close', () => hungUp.resolve())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    requests,
    connected: connected.promise,
    disconnected: hungUp.promise,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** An address at which no server listens. */
export async function unusedAddress(): Promise<string> {
  await using server = await tcpServer(() => {})
  return server.url
}

export const key = 'corp-7f3a9c1d2b'

export function callTo(url: string, overrides: Partial<HttpCall> = {}): HttpCall {
  return {
    provider: 'them',
    url,
    headers: { authorization: `Bearer ${key}` },
    body: { hello: 'there' },
    signal: new AbortController().signal,
    fetch: undefined,
    secrets: [key],
    keyName: 'THEIR_KEY',
    ...overrides,
  }
}

/** How Node sends requests without `fetch`. */
export const nodeTransports = ["Node's dispatcher", 'node:http'] as const

/** In a `describe`: models send their requests in this way. */
export function sendBy(transport: (typeof nodeTransports)[number]): void {
  // The tests have loaded `fetch`.
  if (transport !== 'node:http') return
  let spy: { mockRestore(): void }
  beforeEach(() => {
    spy = vi.spyOn(dispatcher, 'loadedDispatcher').mockReturnValue(undefined)
  })
  afterEach(() => spy.mockRestore())
}

/** Tests of all ways to send a request, which must behave the same. */
export function overEachTransport(title: string, tests: (fetch: Fetch | undefined) => void): void {
  describe.each(['fetch', ...nodeTransports] as const)(title, (transport) => {
    if (transport === 'fetch') return tests((...request) => globalThis.fetch(...request))
    sendBy(transport)
    tests(undefined)
  })
}

/** The error that `work` rejects with. Checks that it is our error and shows no key. */
export async function failureFrom(work: Promise<unknown>): Promise<MillraceError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof MillraceError)) throw new Error(`not our error: ${inspect(error)}`)
  expect(visibleText(error)).not.toContain(key)
  return error
}

/** Everything that an error shows. */
export function visibleText(error: MillraceError): string {
  return [error.stack, JSON.stringify(error), inspect(error, { depth: null, showHidden: true })].join('\n')
}

/** All events of a stream, and the error that ended it, if any. */
export async function drain(stream: AsyncIterable<ModelEvent>) {
  const events: ModelEvent[] = []
  const ended = (async () => {
    for await (const event of stream) events.push(event)
  })()
  const error = await ended.then(
    () => undefined,
    () => failureFrom(ended),
  )
  return { events, error }
}

export function generator(stream: ModelStream): AsyncGenerator<ModelEvent, void, undefined> {
  return stream[Symbol.asyncIterator]() as AsyncGenerator<ModelEvent, void, undefined>
}
