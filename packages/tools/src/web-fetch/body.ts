import type { IncomingMessage } from 'node:http'
import { type Duplex, pipeline } from 'node:stream'
import * as zlib from 'node:zlib'
import { isObject } from 'millrace/internal'

export interface Body {
  readonly bytes: Buffer
  /** Why the body is incomplete, as a note for the model. */
  readonly missing: string | undefined
}

type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

// Node supports zstd since 22.15.
const canZstd = 'createZstdDecompress' in zlib

export const acceptEncoding = canZstd ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'

/**
 * Reads a body up to `maxBytes`, both compressed and decompressed. If the connection breaks, the part
 * received so far is kept: half a page is better than none. Throws if nothing was received.
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
    // An aborted connection looks like the end of a body without a length.
    signal.throwIfAborted()
    if (left < 0 || !sentAll()) missing = `only the first ${sizeOf(maxBytes)} were read`
  } catch (error) {
    signal.throwIfAborted()
    missing = `the response was cut off${codeIn(error)}`
    if (chunks.length === 0) throw new Error(`${missing} before any of it could be read`)
  }
  return { bytes: Buffer.concat(chunks), missing }
}

/** `345 bytes`, `1.2 KiB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

/** The first bytes of a stream, and whether the stream had no more. */
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

/**
 * Backpressure applies: nothing is decompressed beyond what is read, so a zip bomb is limited to
 * `maxBytes`.
 */
async function* unpacked(sent: AsyncGenerator<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const { value: head, done } = await sent.next()
  if (done) return
  const decoder = decoderFor(coding, head)
  async function* whole() {
    yield head
    yield* sent
  }
  // The reader of the decoder gets the error as well.
  yield* pipeline(whole, decoder, () => {}) as AsyncIterable<Buffer>
}

/** Decodes truncated content as far as possible, as browsers do. */
function decoderFor(coding: Coding, head: Buffer): Duplex {
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_d_windowLogMax } = zlib.constants
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip({ finishFlush: Z_SYNC_FLUSH })
    case 'deflate': {
      // RFC 9110 §8.4.1.2: it means the zlib format, but "some non-conformant implementations" send
      // raw deflate.
      const make = ((head[0] ?? 0) & 15) === 8 ? zlib.createInflate : zlib.createInflateRaw
      return make({ finishFlush: Z_SYNC_FLUSH })
    }
    case 'br':
      return zlib.createBrotliDecompress({ finishFlush: BROTLI_OPERATION_FLUSH })
    case 'zstd':
      // RFC 9659: at most 8 MiB of memory for the window.
      return zlib.createZstdDecompress({ params: { [ZSTD_d_windowLogMax]: 23 } })
  }
}

function codingOf({ headers }: IncomingMessage): Coding | undefined {
  const named = (headers['content-encoding'] ?? '').trim().toLowerCase()
  if (named === '' || named === 'identity') return undefined
  const coding = named.replace(/^x-/, '')
  if (coding === 'gzip' || coding === 'deflate' || coding === 'br' || (coding === 'zstd' && canZstd))
    return coding
  throw new Error(
    `the response is compressed as ${JSON.stringify(named.slice(0, 40))}, which is not supported`,
  )
}

function codeIn(error: unknown): string {
  return isObject(error) && typeof error.code === 'string' ? ` (${error.code})` : ''
}
