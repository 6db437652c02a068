import type { FileHandle } from 'node:fs/promises'
import { bomOf, type Encoding, strictDecoder } from './text.ts'

const chunkBytes = 256 * 1024
const newline = 10

/** The bytes of a text file as UTF-8, without BOM. The buffer is reused for each chunk. */
export async function* utf8Chunks(
  file: FileHandle,
  encoding: Encoding,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const decoder = encoding.startsWith('utf-8') ? undefined : strictDecoder(encoding)
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (let at = bomOf(encoding).length; ; ) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, chunkBytes, at)
    if (bytesRead === 0) break
    at += bytesRead
    const bytes = buffer.subarray(0, bytesRead)
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes
  }
  decoder?.decode()
}

export interface LineOptions {
  /** The first line to return, from 1. */
  readonly from?: number
  /** Longer lines are cut. */
  readonly maxLineBytes: number
  /**
   * Called with each line without its line break; must use the buffer at once. Returns false to
   * stop. `whole` is false if the line was cut.
   */
  readonly take: (number: number, bytes: Buffer, whole: boolean) => boolean
  /** After `take` stopped: how many more bytes may be read to count the remaining lines. */
  readonly countBytes?: number
}

/**
 * Reads lines in bounded memory, whatever the length of lines and file. Lines before `from` are only
 * counted. `ended` is false if the rest of the file was not counted.
 */
export async function readLines(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  { from = 1, maxLineBytes, take, countBytes = 0 }: LineOptions,
): Promise<{ readonly lines: number; readonly ended: boolean }> {
  let number = 1
  let kept: Buffer[] = []
  let keptBytes = 0
  let lineBytes = 0
  let taking = true
  let counted = 0

  function keep(bytes: Buffer) {
    lineBytes += bytes.length
    if (!taking || number < from || keptBytes >= maxLineBytes) return
    const part = Buffer.from(bytes.subarray(0, maxLineBytes - keptBytes))
    kept.push(part)
    keptBytes += part.length
  }

  function endLine() {
    if (taking && number >= from) {
      const bytes = kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept)
      const whole = lineBytes === keptBytes
      taking = take(number, whole && bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes, whole)
    }
    kept = []
    keptBytes = lineBytes = 0
    number++
  }

  for await (const chunk of chunks) {
    if (!taking) counted += chunk.length
    if (counted > countBytes) return { lines: number - 1, ended: false }
    let at = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, at)) {
      keep(chunk.subarray(at, end))
      endLine()
      at = end + 1
    }
    keep(chunk.subarray(at))
  }
  if (lineBytes > 0) endLine()
  return { lines: number - 1, ended: true }
}

/** A line as text, cut to `maxChars`. Throws if it is not UTF-8. */
export function lineText(bytes: Buffer, whole: boolean, maxChars: number): { text: string; cut: boolean } {
  // A character split by the cut is not a decoding error.
  const text = strictDecoder('utf-8').decode(bytes, { stream: !whole })
  if (whole && text.length <= maxChars) return { text, cut: false }
  return { text: text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, ''), cut: true }
}

/** A line as the tools show it. */
export function numbered(number: number, text: string, sign = ' '): string {
  return `${sign}${String(number).padStart(5)}\t${text}`
}
