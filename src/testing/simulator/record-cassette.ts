import { type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../../protocol/index.ts'
import { invalidInput, systemClock } from '../../protocol/index.ts'
import { type Cassette, type CassetteExchange, writeChunk } from './cassette.ts'
import type { Closable } from './closable.ts'
import { listen, readBytes } from './http-listener.ts'
import { blot, openHeaders, openPath, secretsIn } from './secrets.ts'

export interface RecordCassetteOptions {
  /** Where requests are passed on to, such as `https://api.openai.com`. */
  readonly upstream: string
  /** Texts that must not be written down, beside the keys that the requests carry. */
  readonly secrets?: readonly string[]
  readonly clock?: Clock
}

export interface CassetteRecorder extends Closable {
  /** `http://127.0.0.1:PORT`: what a client takes instead of the upstream. */
  readonly url: string
  /** What was recorded so far, in order of the requests; those under way are left out. */
  cassette(): Cassette
}

/** Hop by hop (RFC 9110 7.6.1), or of this host: not passed on. */
const ownHeaders = [
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
]

interface Piece {
  readonly bytes: Uint8Array
  readonly afterMs: number
}

/** A server between a client and a real provider that passes everything on, byte by byte, and remembers it. */
export async function recordCassette({
  upstream,
  secrets = [],
  clock = systemClock,
}: RecordCassetteOptions): Promise<CassetteRecorder> {
  if (!/^https?:\/\//.test(upstream) || !URL.canParse(upstream))
    throw invalidInput(
      'recordCassette',
      `upstream must be a URL such as https://api.openai.com, not '${upstream}'`,
    )
  const exchanges: (CassetteExchange | undefined)[] = []

  async function onRequest(request: IncomingMessage, response: ServerResponse) {
    const place = exchanges.push(undefined) - 1
    const { method = 'GET', url: path = '/' } = request
    const hidden = [...secrets, ...secretsIn(request.headers, path)]
    const body = await readBytes(request)
    const answer = await passOn(request, body, response)
    const pieces: Piece[] = []
    const complete = await relay(answer, response, pieces)
    exchanges[place] = {
      request: {
        method,
        path: openPath(path),
        headers: openHeaders(request.headers),
        ...(body.length > 0 && { body: jsonOrText(new TextDecoder().decode(blot(body, hidden))) }),
      },
      response: {
        status: answer.statusCode ?? 0,
        headers: withoutOwn(openHeaders(answer.headers)),
        chunks: chunksOf(pieces, hidden),
        complete,
      },
    }
    // Only now is the client told that it is over: whoever has read the answer finds it on the cassette.
    if (complete) response.end()
    else response.destroy()
  }

  function passOn(
    request: IncomingMessage,
    body: Uint8Array,
    response: ServerResponse,
  ): Promise<IncomingMessage> {
    const url = new URL(upstream)
    const path = url.pathname.replace(/\/$/, '') + (request.url ?? '/')
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const { method } = request
    const headers = {
      ...withoutOwn(request.headers),
      // A compressed answer would be recorded compressed.
      'accept-encoding': 'identity',
      ...(body.length > 0 && { 'content-length': body.length }),
    }
    return new Promise((resolve, reject) => {
      const sent = send(new URL(path, url), { method, headers, agent: false }, resolve)
      sent.on('error', reject)
      response.once('close', () => sent.destroy())
      sent.end(body)
    })
  }

  /** True if the answer came to its end. */
  async function relay(answer: IncomingMessage, response: ServerResponse, pieces: Piece[]): Promise<boolean> {
    response.writeHead(answer.statusCode ?? 502, { ...withoutOwn(answer.headers), connection: 'close' })
    response.flushHeaders()
    let last = clock.now()
    // By `data`, which keeps the cuts; reading as an iterator would join what has piled up.
    answer.on('data', (bytes: Uint8Array) => {
      const now = clock.now()
      pieces.push({ bytes, afterMs: Math.round(now - last) })
      last = now
      response.write(bytes)
    })
    answer.on('error', () => {})
    await new Promise((resolve) => answer.once('close', resolve))
    return answer.complete
  }

  const server = await listen({ onRequest })
  return {
    url: server.url,
    cassette: () => ({ version: 1, exchanges: exchanges.filter((exchange) => exchange !== undefined) }),
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

/** A secret may lie across a cut: it is looked for in the whole, which is then cut as it was. */
function chunksOf(pieces: readonly Piece[], secrets: readonly string[]) {
  const all = blot(Buffer.concat(pieces.map(({ bytes }) => bytes)), secrets)
  let at = 0
  return pieces.map(({ bytes, afterMs }) => {
    at += bytes.length
    return writeChunk(all.subarray(at - bytes.length, at), afterMs)
  })
}

function withoutOwn<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.includes(name)))
}

function jsonOrText(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
