import { type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from 'millrace'
import type { OptionTable, Problem } from 'millrace/internal'
import { invalidInput, kindOf, messageOf, nameOf, systemClock } from 'millrace/internal'
import { checkKitOptions, clockProblem } from 'millrace/internal/testing'
import { blotOf } from './blot.ts'
import type { Cassette } from './cassette.ts'
import type { Closable } from './closable.ts'
import { answerWithError } from './error-answer.ts'
import { listen, readBytes } from './http-listener.ts'
import { decoded, parametersIn, secretsIn } from './secrets.ts'
import { type Piece, type RawExchange, withoutOwn, writeExchange } from './write-exchange.ts'

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

const table: OptionTable<RecordCassetteOptions> = {
  upstream: (value) =>
    !(typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)) &&
    `must be a URL such as https://api.openai.com, not ${nameOf(value)}`,
  secrets: secretsProblem,
  clock: clockProblem,
}

function secretsProblem(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be a list of texts, not ${kindOf(value)}`
  const wrong = value.findIndex((secret) => typeof secret !== 'string' || secret.trim() === '')
  if (wrong < 0) return undefined
  return typeof value[wrong] === 'string'
    ? `has an empty secret at [${wrong}], which would be found everywhere: leave it out`
    : `must hold texts, not ${kindOf(value[wrong])} at [${wrong}]`
}

/** A server between a client and a real provider that passes everything on, byte by byte, and remembers it. */
export async function recordCassette(options: RecordCassetteOptions): Promise<CassetteRecorder> {
  const op = 'recordCassette'
  checkKitOptions(options, table, op)
  const { upstream, secrets = [], clock = systemClock } = options
  if (upstream === undefined)
    throw invalidInput(op, 'upstream is missing: where to pass requests on, such as https://api.openai.com')
  const target = new URL(upstream)
  /** All that was ever seen: the cookie of one answer comes back in the next request. */
  const hidden = new Set([...secrets, decoded(target.password)])
  const exchanges: (RawExchange | undefined)[] = []

  async function onRequest(request: IncomingMessage, response: ServerResponse) {
    const place = exchanges.push(undefined) - 1
    const { method = 'GET', url: path = '/', headers: requestHeaders } = request
    const body = await readBytes(request)
    const answer = await passOn(request, body, response).catch((error: unknown) => reasonOf(error))
    const refuse = (message: string) =>
      answerWithError(response, { status: 502, code: 'cassette_not_recorded', message })
    if (typeof answer === 'string') return refuse(`no answer from ${target.origin}: ${answer}`)
    const { headers, statusCode: status = 502 } = answer
    const encoding = headers['content-encoding'] ?? ''
    if (!/^(identity)?$/i.test(encoding)) {
      // Secrets cannot be blotted out in it, and once it is unpacked its cuts are no longer those of the wire.
      answer.destroy()
      return refuse(
        `${target.origin} answered with content-encoding '${encoding}', though asked for none: what is compressed cannot be recorded, so turn compression off there`,
      )
    }
    for (const secret of [...secretsIn(requestHeaders), ...parametersIn(path), ...secretsIn(headers)])
      hidden.add(secret)
    const pieces: Piece[] = []
    const complete = await relay(answer, response, pieces)
    exchanges[place] = { method, path, requestHeaders, body, status, headers, pieces, complete }
    // Only now is the client told that it is over: whoever has read the answer finds it on the cassette.
    if (complete) response.end()
    else response.destroy()
  }

  function passOn(
    request: IncomingMessage,
    body: Uint8Array,
    response: ServerResponse,
  ): Promise<IncomingMessage> {
    const path = target.pathname.replace(/\/$/, '') + (request.url ?? '/')
    const send = target.protocol === 'https:' ? requestHttps : requestHttp
    const { method } = request
    const headers = {
      ...withoutOwn(request.headers),
      // A compressed answer would be recorded compressed.
      'accept-encoding': 'identity',
      ...(body.length > 0 && { 'content-length': body.length }),
    }
    return new Promise((resolve, reject) => {
      const sent = send(new URL(path, target), { method, headers, agent: false }, resolve)
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
    cassette() {
      const blot = blotOf(hidden)
      const over = exchanges.filter((exchange) => exchange !== undefined)
      return { version: 1, exchanges: over.map((exchange) => writeExchange(exchange, blot)) }
    },
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

/** Where a name has several addresses, the error of each is inside one that says nothing. */
function reasonOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error)
}
