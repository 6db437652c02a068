import type { JsonValue } from 'millrace'
import { invalidInput, isObject, kindOf } from 'millrace/internal'

/**
 * A chunk of a response as it arrived, with its delay: text, or base64 if it is not valid UTF-8.
 */
export type CassetteChunk = { readonly afterMs: number } & (
  | { readonly text: string }
  | { readonly base64: string }
)

export interface CassetteExchange {
  readonly request: {
    readonly method: string
    /** Includes the query. */
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    /** The JSON body, or text if it is not JSON. Absent if it was empty. */
    readonly body?: JsonValue
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly chunks: readonly CassetteChunk[]
    /** False if the connection broke or the client disconnected before the end. */
    readonly complete: boolean
  }
}

/** Recorded responses as plain JSON, with their original chunks and without secrets. */
export interface Cassette {
  readonly version: 1
  readonly exchanges: readonly CassetteExchange[]
}

export function writeChunk(bytes: Uint8Array, afterMs: number): CassetteChunk {
  try {
    return { afterMs, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    // The chunk ends within a character.
    return { afterMs, base64: Buffer.from(bytes).toString('base64') }
  }
}

export function readChunk(chunk: CassetteChunk): Uint8Array {
  return 'text' in chunk ? new TextEncoder().encode(chunk.text) : Buffer.from(chunk.base64, 'base64')
}

/**
 * Checks a cassette, given as an object or as JSON text. Throws `invalid_input` if it is invalid.
 */
export function checkCassette(value: unknown, op: string): Cassette {
  let cassette = value
  if (typeof value === 'string') {
    try {
      cassette = JSON.parse(value)
    } catch (cause) {
      throw invalidInput(op, 'the cassette is not valid JSON', cause)
    }
  }
  const problem = problemOf(cassette)
  if (problem) throw invalidInput(op, `${problem}: write one with recordCassette()`)
  return cassette as Cassette
}

function problemOf(cassette: unknown): string | undefined {
  if (!isObject(cassette)) return `a cassette must be { version, exchanges }, not ${kindOf(cassette)}`
  if (cassette.version !== 1) return `cassette version ${cassette.version} is not supported`
  if (!Array.isArray(cassette.exchanges)) return 'exchanges must be an array'
  for (const [index, exchange] of cassette.exchanges.entries()) {
    const at = `exchanges[${index}]`
    const { request, response } = isObject(exchange) ? exchange : {}
    if (!isObject(request) || typeof request.method !== 'string' || typeof request.path !== 'string')
      return `${at}.request needs a method and a path`
    if (!isObject(response) || typeof response.status !== 'number' || !isObject(response.headers))
      return `${at}.response needs a status and headers`
    const { chunks } = response
    const isChunk = (chunk: unknown) =>
      isObject(chunk) && (typeof chunk.text === 'string' || typeof chunk.base64 === 'string')
    if (!Array.isArray(chunks) || !chunks.every(isChunk))
      return `${at}.response.chunks must each have text or base64`
  }
  return undefined
}
