import type { IncomingHttpHeaders } from 'node:http'
import type { Blot } from './blot.ts'
import { type CassetteExchange, writeChunk } from './cassette.ts'
import { isSecretName, withoutParameters } from './secrets.ts'

/** A request and its answer as they went over the wire, with everybody's secrets. */
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

/** Hop by hop (RFC 9110 7.6.1), or of this host: not passed on. */
const ownHeaders = [
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
]

export function withoutOwn<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.includes(name)))
}

export function writeExchange(raw: RawExchange, blot: Blot): CassetteExchange {
  const { method, path, body, status, complete } = raw
  return {
    request: {
      method,
      path: blot.text(withoutParameters(path)),
      headers: openHeaders(raw.requestHeaders, blot),
      ...(body.length > 0 && { body: blot.json(jsonOrText(new TextDecoder().decode(body))) }),
    },
    response: {
      status,
      headers: withoutOwn(openHeaders(raw.headers, blot)),
      chunks: chunksOf(raw.pieces, blot),
      complete,
    },
  }
}

function openHeaders(headers: IncomingHttpHeaders, blot: Blot): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !isSecretName(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, blot.header(withoutParameters([value].flat().join(', ')))]),
  )
}

/** A secret may lie across a cut: it is looked for in the whole, which is then cut as it was. */
function chunksOf(pieces: readonly Piece[], blot: Blot) {
  const all = blot.bytes(Buffer.concat(pieces.map(({ bytes }) => bytes)))
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
