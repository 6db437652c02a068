import type { JsonValue } from 'millrace'
import { invalidInput, isObject, kindOf } from 'millrace/internal'

/** A piece of an answer as it came: so long after the one before, as text, or as base64 where it is no text by itself. */
export type CassetteChunk = { readonly afterMs: number } & (
  | { readonly text: string }
  | { readonly base64: string }
)

export interface CassetteExchange {
  readonly request: {
    readonly method: string
    /** With its query. */
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    /** The JSON that was sent, text if it is none, absent if there was nothing. */
    readonly body?: JsonValue
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly chunks: readonly CassetteChunk[]
    /** False if the connection broke, or the client went before the end. */
    readonly complete: boolean
  }
}

/** Real answers as plain JSON, with the cuts between their bytes and without anybody's secrets. */
export interface Cassette {
  readonly version: 1
  readonly exchanges: readonly CassetteExchange[]
}

export function writeChunk(bytes: Uint8Array, afterMs: number): CassetteChunk {
  try {
    return { afterMs, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    // The cut went through a character.
    return { afterMs, base64: Buffer.from(bytes).toString('base64') }
  }
}

export function readChunk(chunk: CassetteChunk): Uint8Array {
  return 'text' in chunk ? new TextEncoder().encode(chunk.text) : Buffer.from(chunk.base64, 'base64')
}

/** A cassette as an object or as JSON text. Throws `invalid_input` that says what is wrong with it. */
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
  if (!isObject(cassette)) return `a cassette is { version, exchanges }, not ${kindOf(cassette)}`
  if (cassette.version !== 1) return `version ${cassette.version} of a cassette is not known here`
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
