import type { EventEmitter as Emitter } from 'node:events'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import type { Entry } from '../protocol/index.ts'

/** What the server does wrong on one connection. */
export interface Fault {
  /** Rejects it with this status. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Changes the entries that are sent. */
  readonly transform?: (entries: readonly Entry[]) => readonly Entry[]
  /** Sent after the entries. */
  readonly suffix?: string
  /** Then ends the stream, or closes the socket with this code. */
  readonly close?: number
  /** Accepts it and sends nothing. */
  readonly silent?: boolean
}

interface StreamSeen {
  readonly over: 'sse' | 'socket'
  readonly after: number
  readonly until: string | null
  readonly protocols: string | undefined
  readonly authorization: string | undefined
  /** Resolves when the client has closed it. */
  readonly closed: Promise<void>
  readonly received: string[]
}

interface RequestSeen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface LogServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly streams: readonly StreamSeen[]
  readonly requests: readonly RequestSeen[]
  /** How many upgrades were requested, including rejected ones. */
  readonly upgrades: number
}

export interface LogServerOptions {
  readonly log?: readonly Entry[]
  /** One for each stream, in order. */
  readonly faults?: readonly (Fault | undefined)[]
  /** `false` rejects every upgrade, like a proxy without WebSocket support. */
  readonly sockets?: boolean
  /** Answers requests other than streams. */
  readonly answer?: (request: RequestSeen, response: ServerResponse, nth: number) => void
}

/** A small server that streams a log like the real one, with faults. Closed by `await using`. */
export async function logServer(options: LogServerOptions = {}): Promise<LogServer> {
  const { log = [], faults = [], sockets = true, answer } = options
  const streams: StreamSeen[] = []
  const requests: RequestSeen[] = []
  const open = new Set<Socket>()
  let upgradeCount = 0

  function begin(over: StreamSeen['over'], request: IncomingMessage, end: Emitter) {
    const { searchParams } = new URL(request.url ?? '', 'http://server')
    const closed = new Promise<void>((resolve) => end.once('close', () => resolve()))
    const seen: StreamSeen = {
      over,
      after: Number(searchParams.get('after')),
      until: searchParams.get('until'),
      protocols: request.headers['sec-websocket-protocol'],
      authorization: request.headers.authorization,
      closed,
      received: [],
    }
    const fault = faults[streams.length] ?? {}
    streams.push(seen)
    const { transform = (all: readonly Entry[]) => all } = fault
    return { seen, fault, entries: fault.silent ? [] : transform(entriesAfter(log, seen.after)) }
  }

  function stream(request: IncomingMessage, response: ServerResponse) {
    const { seen, fault, entries } = begin('sse', request, response)
    if (fault.status !== undefined)
      return response.writeHead(fault.status, fault.headers).end(fault.body ?? '')
    response.writeHead(200, { 'content-type': 'text/event-stream', ...fault.headers })
    response.flushHeaders()
    for (const entry of entries) response.write(frameOf(entry))
    if (fault.suffix !== undefined) response.write(fault.suffix)
    if (fault.close !== undefined) response.end()
    else if (seen.until && !fault.silent) {
      response.write('event: end\ndata: {}\n\n')
      setTimeout(() => response.end(), 10)
    }
  }

  const server = createServer(async (request, response) => {
    if (request.headers.accept === 'text/event-stream') return stream(request, response)
    let text = ''
    for await (const chunk of request) text += chunk
    const { method, url, headers } = request
    const seen = { method, url, headers, body: text && JSON.parse(text) }
    requests.push(seen)
    if (answer) answer(seen, response, requests.length)
    else response.writeHead(404).end()
  })
  const upgrades = new WebSocketServer({ noServer: true, handleProtocols: () => 'millrace.v1' })
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
  })
  server.on('upgrade', (request, socket, head) => {
    upgradeCount++
    if (!sockets) return socket.end('HTTP/1.1 501 Not Implemented\r\nconnection: close\r\n\r\n')
    const { seen, fault, entries } = begin('socket', request, socket)
    if (fault.status !== undefined)
      return socket.end(`HTTP/1.1 ${fault.status} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
    upgrades.handleUpgrade(request, socket, head, (ws: WebSocket) => {
      ws.on('error', () => {})
      ws.on('message', (data) => {
        seen.received.push(String(data))
        if (String(data) === '{"type":"ping"}' && !fault.silent) ws.send('{"type":"pong"}')
      })
      if (fault.silent) return
      ws.send(JSON.stringify({ type: 'ready', head: log.at(-1)?.seq ?? 0 }))
      for (const entry of entries) ws.send(JSON.stringify({ type: 'stream_chunk', ...entry }))
      if (fault.suffix !== undefined) ws.send(fault.suffix)
      if (fault.close !== undefined) ws.close(fault.close)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    streams,
    requests,
    get upgrades() {
      return upgradeCount
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export function frameOf(entry: Entry): string {
  return `id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`
}

const words = ['Where', ' ist', ' der', ' Schlüssel', '?', ' 日本', '\r\n', ' 🙂', '\n\ndata: x\n', '\u2028']

/** A log of `length` text deltas. */
export function logOf(length: number): Entry[] {
  return Array.from({ length }, (_, index) => ({
    seq: index + 1,
    at: 1_700_000_000_000 + index,
    event: { type: 'text', text: `${index + 1}:${words[index % words.length]}` },
  }))
}

function entriesAfter(log: readonly Entry[], after: number): readonly Entry[] {
  return log.filter(({ seq }) => seq > after)
}

/** The same entries with neighbors joined, `size` at a time. */
export function joined(entries: readonly Entry[], size: number): Entry[] {
  const groups: Entry[] = []
  for (let at = 0; at < entries.length; at += size) {
    const group = entries.slice(at, at + size)
    const [first, last] = [group[0] as Entry, group.at(-1) as Entry]
    const text = group.map(textIn).join('')
    groups.push(first === last ? first : { ...last, from: first.seq, event: { type: 'text', text } })
  }
  return groups
}

export function textIn({ event }: Entry): string {
  return event.type === 'text' ? event.text : ''
}
