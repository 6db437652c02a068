import type { IncomingMessage } from 'node:http'
import { type Duplex, pipeline } from 'node:stream'
import * as zlib from 'node:zlib'
import { isObject } from 'millrace/internal'

export interface Body {
  readonly bytes: Buffer
  /** Why this is not all of it, in words for a model. */
  readonly missing: string | undefined
}

type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

// Node has zstd from 22.15 on.
const canZstd = 'createZstdDecompress' in zlib

export const acceptEncoding = canZstd ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'

/**
 * Reads a body up to `maxBytes`, of what is sent as of what comes out of it unpacked. What came before it broke is kept: half a
 * page helps more than none. Throws if nothing came.
 */
export async function readBody(
  response: IncomingMessage,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Body> {
  const coding = codingOf(response)
  const chunks: Buffer[] = []
  let left = maxBytes
  let missing: string | undefined
  try {
    const [sent, sentAll] = upTo(response, maxBytes)
    for await (const chunk of coding ? unpacked(sent, coding) : sent) {
      chunks.push(chunk.subarray(0, left))
      left -= chunk.length
      if (left < 0) break
    }
    // A connection that we ended ourselves looks like the end of a body without a length.
    signal.throwIfAborted()
    if (left < 0 || !sentAll()) missing = `only the first ${sizeOf(maxBytes)} were read`
  } catch (error) {
    signal.throwIfAborted()
    missing = `the answer broke off${codeIn(error)}`
    if (chunks.length === 0) throw new Error(`${missing} before anything of it could be read`)
  }
  return { bytes: Buffer.concat(chunks), missing }
}

/** In bytes, for people and models. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

/** The first bytes of a stream, and whether that was all. */
function upTo(stream: AsyncIterable<Buffer>, maxBytes: number): [AsyncGenerator<Buffer>, () => boolean] {
  let left = maxBytes
  async function* first() {
    for await (const chunk of stream) {
      yield chunk.subarray(0, left)
      left -= chunk.length
      if (left < 0) return
    }
  }
  return [first(), () => left >= 0]
}

/** Back-pressure reaches through it: no more is unpacked than somebody reads, so a bomb costs no more than its limit. */
async function* unpacked(sent: AsyncGenerator<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const { value: head, done } = await sent.next()
  if (done) return
  const decoder = decoderFor(coding, head)
  async function* whole() {
    yield head
    yield* sent
  }
  // The error reaches the reader of the decoder as well.
  yield* pipeline(whole, decoder, () => {}) as AsyncIterable<Buffer>
}

/** Content that was cut short is still read, as browsers do. */
function decoderFor(coding: Coding, head: Buffer): Duplex {
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_d_windowLogMax } = zlib.constants
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip({ finishFlush: Z_SYNC_FLUSH })
    case 'deflate': {
      // RFC 9110 §8.4.1.2: it means the zlib format, "some non-conformant implementations" send it bare.
      const make = ((head[0] ?? 0) & 15) === 8 ? zlib.createInflate : zlib.createInflateRaw
      return make({ finishFlush: Z_SYNC_FLUSH })
    }
    case 'br':
      return zlib.createBrotliDecompress({ finishFlush: BROTLI_OPERATION_FLUSH })
    case 'zstd':
      // RFC 9659: no more than 8 MiB of memory for a window.
      return zlib.createZstdDecompress({ params: { [ZSTD_d_windowLogMax]: 23 } })
  }
}

function codingOf({ headers }: IncomingMessage): Coding | undefined {
  const named = (headers['content-encoding'] ?? '').trim().toLowerCase()
  if (named === '' || named === 'identity') return undefined
  const coding = named.replace(/^x-/, '')
  if (coding === 'gzip' || coding === 'deflate' || coding === 'br' || (coding === 'zstd' && canZstd))
    return coding
  throw new Error(`the answer is packed as ${JSON.stringify(named.slice(0, 40))}, which cannot be read here`)
}

function codeIn(error: unknown): string {
  return isObject(error) && typeof error.code === 'string' ? ` (${error.code})` : ''
}
