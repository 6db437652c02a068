import { type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from 'millrace'
import type { OptionTable, Problem } from 'millrace/internal'
import { invalidInput, kindOf, messageOf, nameOf, systemClock } from 'millrace/internal'
import { checkKitOptions, clockProblem } from 'millrace/internal/testing'
import type { Cassette } from './cassette.ts'
import type { Closable } from './closable.ts'
import { answerWithError } from './error-answer.ts'
import { listen, readBytes } from './http-listener.ts'
import { redactor } from './redact.ts'
import { decodeParameter, parametersIn, secretsIn } from './secrets.ts'
import { type Piece, type RawExchange, withoutHopHeaders, writeExchange } from './write-exchange.ts'

export interface RecordCassetteOptions {
  /** Where requests are forwarded to, such as `https://api.openai.com`. */
  readonly upstream: string
  /** Strings that must not be recorded, in addition to the keys in the requests. */
  readonly secrets?: readonly string[]
  readonly clock?: Clock
}

export interface CassetteRecorder extends Closable {
  /** `http://127.0.0.1:PORT`, for clients to use in place of the upstream. */
  readonly url: string
  /** The exchanges recorded so far, in order of the requests, without unfinished ones. */
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
  if (!Array.isArray(value)) return `must be an array of strings, not ${kindOf(value)}`
  const wrong = value.findIndex((secret) => typeof secret !== 'string' || secret.trim() === '')
  if (wrong < 0) return undefined
  return typeof value[wrong] === 'string'
    ? `has an empty string at [${wrong}], which would match everywhere: remove it`
    : `must be an array of strings, not ${kindOf(value[wrong])} at [${wrong}]`
}

/** A proxy between a client and a real provider that records everything, chunk by chunk. */
export async function recordCassette(options: RecordCassetteOptions): Promise<CassetteRecorder> {
  const op = 'recordCassette'
  checkKitOptions(options, table, op)
  const { upstream, secrets = [], clock = systemClock } = options
  if (upstream === undefined)
    throw invalidInput(
      op,
      'upstream is missing: pass the URL to forward requests to, such as https://api.openai.com',
    )
  const target = new URL(upstream)
  /** All secrets seen so far: a cookie of one response comes back in the next request. */
  const seenSecrets = new Set([...secrets, decodeParameter(target.password)])
  const exchanges: (RawExchange | undefined)[] = []

  async function onRequest(request: IncomingMessage, response: ServerResponse) {
    const slot = exchanges.push(undefined) - 1
    const { method = 'GET', url: path = '/', headers: requestHeaders } = request
    const body = await readBytes(request)
    const answer = await forward(request, body, response).catch((error: unknown) => reasonOf(error))
    const respondError = (message: string) =>
      answerWithError(response, { status: 502, code: 'cassette_not_recorded', message })
    if (typeof answer === 'string') return respondError(`no response from ${target.origin}: ${answer}`)
    const { headers, statusCode: status = 502 } = answer
    const encoding = headers['content-encoding'] ?? ''
    if (!/^(identity)?$/i.test(encoding)) {
      // Secrets in compressed data cannot be redacted, and decompressing would lose the chunk
      // boundaries.
      answer.destroy()
      return respondError(
        `${target.origin} sent content-encoding '${encoding}' although none was accepted: compressed responses cannot be recorded, so turn compression off there`,
      )
    }
    for (const secret of [...secretsIn(requestHeaders), ...parametersIn(path), ...secretsIn(headers)])
      seenSecrets.add(secret)
    const pieces: Piece[] = []
    const complete = await relay(answer, response, pieces)
    exchanges[slot] = { method, path, requestHeaders, body, status, headers, pieces, complete }
    // Ends the response only now, so that a client that has read it finds it on the cassette.
    if (complete) response.end()
    else response.destroy()
  }

  function forward(
    request: IncomingMessage,
    body: Uint8Array,
    response: ServerResponse,
  ): Promise<IncomingMessage> {
    const path = target.pathname.replace(/\/$/, '') + (request.url ?? '/')
    const send = target.protocol === 'https:' ? requestHttps : requestHttp
    const { method } = request
    const headers = {
      ...withoutHopHeaders(request.headers),
      // Compressed responses cannot be recorded.
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

  /** Resolves to true if the response was complete. */
  async function relay(answer: IncomingMessage, response: ServerResponse, pieces: Piece[]): Promise<boolean> {
    response.writeHead(answer.statusCode ?? 502, {
      ...withoutHopHeaders(answer.headers),
      connection: 'close',
    })
    response.flushHeaders()
    let last = clock.now()
    // `data` events keep the chunks; an iterator would join buffered ones.
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
      const redaction = redactor(seenSecrets)
      const finished = exchanges.filter((exchange) => exchange !== undefined)
      return { version: 1, exchanges: finished.map((exchange) => writeExchange(exchange, redaction)) }
    },
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

/**
 * If a host has several addresses, the errors are inside an AggregateError with an empty message.
 */
function reasonOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error)
}
