import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpError, threadStreamOf, writeBody, writeThread } from '../protocols/index.ts'
import { errorAnswer } from './errors.ts'
import type { Handler } from './handler.ts'
import type { HoldBack } from './late-refusals.ts'
import type { ClientAddress } from './proxy.ts'
import { tooLarge } from './request-parts.ts'
import { isStream } from './stream-place.ts'

/** One for all: to make one for each request takes longer than to answer some. */
const closed = new DOMException('the connection is closed', 'AbortError')

/** So long a client may go on with a body that nobody wants to read. */
const leftoverMs = 500

export interface ServeOptions {
  readonly handle: Handler
  readonly clientAddress: ClientAddress
  readonly holdBack: HoldBack
  /** No further request is wanted over this connection. */
  readonly isClosing: () => boolean
  /** So long a client may take nothing of a stream before it is dropped. */
  readonly stuckMs: number
  /** Is told what ends a stream that begins; gives what to call when it has ended. */
  readonly track: (end: () => void) => () => void
}

/** Answers one request of Node. Never rejects; the connection may be gone at any moment. */
export async function serveRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  { handle, clientAddress, holdBack, isClosing, stuckMs, track }: ServeOptions,
): Promise<void> {
  // A client that goes is an `error` of these two; `close` tells the same, to those who care.
  incoming.on('error', () => {})
  response.on('error', () => {})
  let count = (_bytes: number) => {}
  const gone = new AbortController()
  response.once('close', () => gone.abort(closed))
  const request = toRequest(incoming)
  const address = clientAddress(incoming)
  const answer = request
    ? await handle(request, {
        localAddress: incoming.socket.localAddress,
        address,
        gone: gone.signal,
        readBody: (most) => readBody(incoming, most),
        countAnswer(counting) {
          count = counting
        },
      })
    : noRequest()
  await holdBack(answer.status, address, gone.signal)
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) response.setHeader(name, value)
  const stream = threadStreamOf(answer.body)
  if (stream) {
    response.once('close', track(stream.end))
    // A stream that ends with its connection needs no chunks around its frames: they cost as much as the frames.
    response.removeHeader('transfer-encoding')
    response.setHeader('connection', 'close')
    return writeThread(response, stream)
  }
  if (answer.body && isStream(answer)) return writeBody(response, answer.body, { stuckMs })
  const body = answer.body ? Buffer.from(await answer.arrayBuffer()) : undefined
  if (body && !response.destroyed) {
    count(body.length)
    response.once('close', () => count(-body.length))
  }
  if (isClosing()) response.setHeader('connection', 'close')
  if (!incoming.complete) cutLeftover(incoming)
  response.end(body)
}

function noRequest(): Response {
  return errorAnswer(httpError(400, 'invalid_input', 'this is no request that could be answered'), () => {})
}

/** A name or an address, with or without a port. Anything else would change what the address around it means. */
const plainHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i

/** Without the body, which is read through the connection. Undefined if it is none that could be asked of anybody. */
export function toRequest(incoming: IncomingMessage, more: Record<string, string> = {}): Request | undefined {
  const { method = 'GET', url = '/', headers, rawHeaders, httpVersion } = incoming
  // One, says RFC 9112, 3.2. Node takes the first of several, and a proxy in front may have gone by the last.
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name))
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion !== '1.0')) return undefined
  // Only HTTP/1.0 does without, which no browser speaks.
  const host = headers.host ?? 'localhost'
  if (!plainHost.test(host)) return undefined
  try {
    // By joining: resolved against a base, `//elsewhere/` would be another host.
    const address = url.startsWith('/') ? `http://${host}${url}` : url
    return new Request(address, { method, headers: { ...(headers as Record<string, string>), ...more } })
  } catch {
    return undefined
  }
}

function readBody(incoming: IncomingMessage, most: number): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    // One that grows: a body in chunks of one byte would be a million objects.
    let bytes = Buffer.allocUnsafe(Math.min(most, 4096))
    let size = 0
    const settle = (act: () => void) => {
      incoming.off('data', take)
      incoming.off('end', done)
      incoming.off('close', gone)
      act()
    }
    const take = (chunk: Buffer) => {
      const end = size + chunk.length
      if (end > most) return settle(() => reject(tooLarge(most)))
      if (end > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.min(most, Math.max(end, 2 * bytes.length)))
        bytes.copy(larger, 0, 0, size)
        bytes = larger
      }
      size += chunk.copy(bytes, size)
    }
    const done = () => settle(() => resolve(bytes.subarray(0, size)))
    const gone = () => settle(() => reject(httpError(400, 'invalid_input', 'the body broke off')))
    if (incoming.destroyed) return gone()
    incoming.on('data', take)
    incoming.on('end', done)
    incoming.on('close', gone)
  })
}

/** Lets what was not read of a request go by, so that the client gets to read the answer; but not for ever. */
function cutLeftover(incoming: IncomingMessage) {
  incoming.resume()
  const timer = setTimeout(() => incoming.destroy(), leftoverMs)
  incoming.once('close', () => clearTimeout(timer))
  incoming.once('end', () => clearTimeout(timer))
}
