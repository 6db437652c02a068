import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ListenerOptions {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse, socket: Socket) => Promise<void>
  readonly onConnection?: (socket: Socket) => void
}

/** A server on this machine that knows its sockets. */
export interface Listener {
  readonly url: string
  /** Aborted when it is closed: whoever waits for something stops. */
  readonly closing: AbortSignal
  readonly sockets: number
  /** Resolves when no connection is open. */
  idle(): Promise<void>
  /** Ends everything at once. May be called twice. */
  close(): Promise<void>
}

export async function listen({ onRequest, onConnection }: ListenerOptions): Promise<Listener> {
  const open = new Set<Socket>()
  const waiting = new Set<() => void>()
  const closing = new AbortController()
  const server = createServer((request, response) => {
    // A client that goes is an `error` of these two; `close` tells the same, to those who care.
    request.on('error', () => {})
    response.on('error', () => {})
    onRequest(request, response, request.socket).catch((error) => response.destroy(error))
  })
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      open.delete(socket)
      if (open.size > 0) return
      for (const resolve of waiting) resolve()
      waiting.clear()
    })
    onConnection?.(socket)
  })
  const idle = () => new Promise<void>((resolve) => (open.size === 0 ? resolve() : waiting.add(resolve)))

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined

  return {
    url: `http://127.0.0.1:${port}`,
    closing: closing.signal,
    get sockets() {
      return open.size
    },
    idle,
    async close() {
      closing.abort()
      const closed = server.listening && new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await Promise.all([closed, idle()])
    },
  }
}

/** The whole body. Rejects if the client goes before it is there. */
export async function readBytes(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Aborted when the client of this answer is gone, or the server is closed. Call `off` when the answer is over. */
export function whileOpen(
  response: ServerResponse,
  closing: AbortSignal,
): { signal: AbortSignal; off: () => void } {
  const gone = new AbortController()
  const abort = () => gone.abort()
  response.once('close', abort)
  closing.addEventListener('abort', abort)
  if (closing.aborted || response.destroyed) abort()
  return {
    signal: gone.signal,
    off() {
      response.off('close', abort)
      closing.removeEventListener('abort', abort)
    },
  }
}
