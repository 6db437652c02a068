import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpError, threadStreamOf, writeBody, writeThread } from '../protocols/index.ts'
import { errorResponse } from './errors.ts'
import type { Handler } from './handler.ts'
import type { ClientAddress } from './proxy.ts'
import type { DelayRejection } from './rejection-delay.ts'
import { tooLarge } from './request-parts.ts'
import { isStream } from './stream-slot.ts'

/** Shared: creating one per request takes longer than answering some requests. */
const connectionClosed = new DOMException('the connection is closed', 'AbortError')

/** How long a client may keep sending a body that is not read. */
const discardMs = 500

export interface ServeRequestOptions {
  readonly handle: Handler
  readonly clientAddress: ClientAddress
  readonly delayRejection: DelayRejection
  /** Whether the server is closing: the connection is not kept alive. */
  readonly isClosing: () => boolean
  /** A client that reads nothing from a stream for this long is disconnected. */
  readonly stuckMs: number
  /** Registers a function that ends a new stream. Returns a function to call once it has ended. */
  readonly track: (end: () => void) => () => void
}

/** Answers one Node request. Never rejects; the connection may close at any time. */
export async function serveRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  { handle, clientAddress, delayRejection, isClosing, stuckMs, track }: ServeRequestOptions,
): Promise<void> {
  // Both emit `error` when the client disconnects. `close` is handled instead.
  incoming.on('error', () => {})
  response.on('error', () => {})
  let count = (_bytes: number) => {}
  const closing = new AbortController()
  response.once('close', () => closing.abort(connectionClosed))
  const request = toRequest(incoming)
  const address = clientAddress(incoming)
  const result = request
    ? await handle(request, {
        localAddress: incoming.socket.localAddress,
        address,
        closed: closing.signal,
        readBody: (maxBytes) => readBody(incoming, maxBytes),
        countResponse(counting) {
          count = counting
        },
      })
    : malformedRequest()
  await delayRejection(result.status, address, closing.signal)
  response.statusCode = result.status
  for (const [name, value] of result.headers) response.setHeader(name, value)
  const stream = threadStreamOf(result.body)
  if (stream) {
    response.once('close', track(stream.end))
    if (stream.frames.marksEnd) {
      // The end of the connection is the end of the stream. For the fetch of Node 22, this header says
      // so even with chunked encoding, so a cut would look like the end.
      response.removeHeader('transfer-encoding')
      response.setHeader('connection', 'close')
    }
    return writeThread(response, stream)
  }
  if (result.body && isStream(result)) return writeBody(response, result.body, { stuckMs })
  const body = result.body ? Buffer.from(await result.arrayBuffer()) : undefined
  if (body && !response.destroyed) {
    count(body.length)
    response.once('close', () => count(-body.length))
  }
  if (isClosing()) response.setHeader('connection', 'close')
  if (!incoming.complete) discardRest(incoming)
  response.end(body)
}

function malformedRequest(): Response {
  return errorResponse(httpError(400, 'invalid_input', 'malformed request'), () => {})
}

/**
 * A name or an address, with or without a port. Anything else would change the meaning of the URL.
 */
const plainHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i

/**
 * The request without its body, which is read through the connection. Undefined if it is malformed.
 */
export function toRequest(incoming: IncomingMessage, more: Record<string, string> = {}): Request | undefined {
  const { method = 'GET', url = '/', headers, rawHeaders, httpVersion } = incoming
  // RFC 9112, 3.2 allows exactly one. Node uses the first of several, and a proxy may have used the
  // last.
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name))
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion !== '1.0')) return undefined
  // Optional in HTTP/1.0, which no browser uses.
  const host = headers.host ?? 'localhost'
  if (!plainHost.test(host)) return undefined
  try {
    // Joined, not resolved against a base: `//elsewhere/` would resolve to another host.
    const address = url.startsWith('/') ? `http://${host}${url}` : url
    return new Request(address, { method, headers: { ...(headers as Record<string, string>), ...more } })
  } catch {
    return undefined
  }
}

function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    // One growing buffer: a body sent in chunks of one byte would become a million objects.
    let bytes = Buffer.allocUnsafe(Math.min(maxBytes, 4096))
    let size = 0
    const settle = (act: () => void) => {
      incoming.off('data', take)
      incoming.off('end', done)
      incoming.off('close', closed)
      act()
    }
    const take = (chunk: Buffer) => {
      const end = size + chunk.length
      if (end > maxBytes) return settle(() => reject(tooLarge(maxBytes)))
      if (end > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(end, 2 * bytes.length)))
        bytes.copy(larger, 0, 0, size)
        bytes = larger
      }
      size += chunk.copy(bytes, size)
    }
    const done = () => settle(() => resolve(bytes.subarray(0, size)))
    const closed = () => settle(() => reject(httpError(400, 'invalid_input', 'the request body was cut off')))
    if (incoming.destroyed) return closed()
    incoming.on('data', take)
    incoming.on('end', done)
    incoming.on('close', closed)
  })
}

/**
 * Discards the unread rest of a request for a while, so that the client gets to read the response.
 */
function discardRest(incoming: IncomingMessage) {
  incoming.resume()
  const timer = setTimeout(() => incoming.destroy(), discardMs)
  incoming.once('close', () => clearTimeout(timer))
  incoming.once('end', () => clearTimeout(timer))
}
