import type { IncomingHttpHeaders } from 'node:http'
import { type CassetteExchange, writeChunk } from './cassette.ts'
import type { Redaction } from './redact.ts'
import { isSecretName, withoutParameters } from './secrets.ts'

/** A request and its response as sent, including secrets. */
export interface RawExchange {
  readonly method: string
  readonly path: string
  readonly requestHeaders: IncomingHttpHeaders
  readonly body: Uint8Array
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly pieces: readonly Piece[]
  readonly complete: boolean
}

export interface Piece {
  readonly bytes: Uint8Array
  readonly afterMs: number
}

/** Hop-by-hop headers (RFC 9110 7.6.1), and those of this host: not forwarded. */
const hopHeaders = [
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
]

export function withoutHopHeaders<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopHeaders.includes(name)))
}

export function writeExchange(raw: RawExchange, redaction: Redaction): CassetteExchange {
  const { method, path, body, status, complete } = raw
  return {
    request: {
      method,
      path: redaction.text(withoutParameters(path)),
      headers: publicHeaders(raw.requestHeaders, redaction),
      ...(body.length > 0 && { body: redaction.json(jsonOrText(new TextDecoder().decode(body))) }),
    },
    response: {
      status,
      headers: withoutHopHeaders(publicHeaders(raw.headers, redaction)),
      chunks: chunksOf(raw.pieces, redaction),
      complete,
    },
  }
}

function publicHeaders(headers: IncomingHttpHeaders, redaction: Redaction): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !isSecretName(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, redaction.header(withoutParameters([value].flat().join(', ')))]),
  )
}

/** A secret may span chunks, so the whole body is redacted and then cut at the same places. */
function chunksOf(pieces: readonly Piece[], redaction: Redaction) {
  const all = redaction.bytes(Buffer.concat(pieces.map(({ bytes }) => bytes)))
  let at = 0
  return pieces.map(({ bytes, afterMs }) => {
    at += bytes.length
    return writeChunk(all.subarray(at - bytes.length, at), afterMs)
  })
}

function jsonOrText(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
