import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ListenerOptions {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse, socket: Socket) => Promise<void>
  readonly onConnection?: (socket: Socket) => void
}

/** A local server that tracks its sockets. */
export interface Listener {
  readonly url: string
  /** Aborted when it is closed, so that pending waits stop. */
  readonly closing: AbortSignal
  readonly sockets: number
  /** Resolves when no connection is open. */
  idle(): Promise<void>
  /** Closes all connections at once. May be called twice. */
  close(): Promise<void>
}

export async function listen({ onRequest, onConnection }: ListenerOptions): Promise<Listener> {
  const open = new Set<Socket>()
  const waiting = new Set<() => void>()
  const closing = new AbortController()
  const server = createServer((request, response) => {
    // A disconnect emits `error` on both. It is handled through `close`.
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

/** Reads the whole body. Rejects if the client disconnects before its end. */
export async function readBytes(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/**
 * A signal that is aborted when the client disconnects or the server closes. Call `off` after the
 * response.
 */
export function openSignal(
  response: ServerResponse,
  closing: AbortSignal,
): { signal: AbortSignal; off: () => void } {
  const controller = new AbortController()
  const abort = () => controller.abort()
  response.once('close', abort)
  closing.addEventListener('abort', abort)
  if (closing.aborted || response.destroyed) abort()
  return {
    signal: controller.signal,
    off() {
      response.off('close', abort)
      closing.removeEventListener('abort', abort)
    },
  }
}
