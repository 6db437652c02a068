import type { HttpResponse } from './http-response.ts'

const unpackers = {
  gzip: 'createUnzip',
  'x-gzip': 'createUnzip',
  deflate: 'createUnzip',
  br: 'createBrotliDecompress',
  // Since Node 22.15.
  zstd: 'createZstdDecompress',
} as const

/** A response that the server compressed, although it was asked not to; as it is if it cannot be read. */
export function decompressed(response: HttpResponse): HttpResponse {
  const encoding = response.encoding?.trim().toLowerCase() ?? ''
  if (!Object.hasOwn(unpackers, encoding)) return response
  const unpack = process.getBuiltinModule('node:zlib')[unpackers[encoding as keyof typeof unpackers]]
  if (!unpack) return response
  // The headers only until the first read.
  const { status, headers, isRedirect } = response
  async function* packed() {
    for (let bytes = await response.read(); bytes; bytes = await response.read()) yield bytes
  }
  const { pipeline } = process.getBuiltinModule('node:stream')
  // A failure is thrown by the iterator.
  const bytes = pipeline(packed, unpack(), () => {})
  const chunks: AsyncIterator<Uint8Array> = bytes[Symbol.asyncIterator]()
  return {
    status,
    headers,
    isRedirect,
    read: async () => (await chunks.next()).value,
    close() {
      response.close()
      bytes.destroy()
    },
  }
}
