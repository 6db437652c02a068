import { quotedPath } from './failures.ts'

/** The encoding of a text file. UTF-16 is recognized only by its BOM. */
export type Encoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be'

const boms: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8-bom', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
]

export function encodingOf(head: Buffer): Encoding {
  return boms.find(([, bom]) => startsWith(head, bom))?.[0] ?? 'utf-8'
}

export function bomOf(encoding: Encoding): Buffer {
  return boms.find(([name]) => name === encoding)?.[1] ?? Buffer.alloc(0)
}

/** A decoder that throws on invalid text. The BOM must already be removed. */
export function strictDecoder(encoding: Encoding): TextDecoder {
  const label = encoding.startsWith('utf-8') ? 'utf-8' : encoding
  return new TextDecoder(label, { fatal: true, ignoreBOM: true })
}

interface DecodedText {
  readonly text: string
  readonly encoding: Encoding
}

/** The text of a whole file, without BOM. Throws if it is not text. */
export function decodeText(bytes: Buffer): DecodedText {
  const encoding = encodingOf(bytes)
  const text = strictDecoder(encoding).decode(bytes.subarray(bomOf(encoding).length))
  return { text, encoding }
}

/** The same for the file at `path`, with an explanation if it is not text. */
export function decodeFile(bytes: Buffer, path: string): DecodedText {
  try {
    return decodeText(bytes)
  } catch (error) {
    throw isDecodingError(error) ? notText(path, 'not valid UTF-8 text', bytes.length) : error
  }
}

export function encodeText(text: string, encoding: Encoding): Buffer {
  const body = encoding.startsWith('utf-8') ? Buffer.from(text) : Buffer.from(text, 'utf16le')
  return Buffer.concat([bomOf(encoding), encoding === 'utf-16be' ? body.swap16() : body])
}

/** The media type of an image that models can see, by its first bytes. */
export function imageTypeOf(head: Buffer): string | undefined {
  const ascii = head.toString('latin1', 0, 12)
  if (ascii.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (ascii.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(ascii)) return 'image/gif'
  if (/^RIFF.{4}WEBP/s.test(ascii)) return 'image/webp'
  return undefined
}

const otherKinds: readonly (readonly [string, string])[] = [
  ['%PDF-', 'a PDF document'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['\x1f\x8b', 'a gzip archive'],
  ['\x7fELF', 'a program'],
  ['\xcf\xfa\xed\xfe', 'a program'],
  ['SQLite format 3\0', 'an SQLite database'],
  ['\0asm', 'a WebAssembly module'],
]

/** What kind of binary file it is; undefined if it may be text. */
export function binaryKindOf(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 8192)
  const known = otherKinds.find(([magic]) => startsWith(head, Buffer.from(magic, 'latin1')))
  if (known) return known[1]
  if (encodingOf(head).startsWith('utf-16')) return undefined
  return head.includes(0) ? 'a binary file' : undefined
}

export function notText(path: string, kind: string, size: number): Error {
  return new Error(
    `${quotedPath(path)} is ${kind} (${sizeOf(size)}), but only UTF-8 text and images can be read: if you can run commands, inspect it with file, xxd or iconv.`,
  )
}

/** Whether it is an error of a strict decoder. */
export function isDecodingError(error: unknown): boolean {
  return error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
}

function startsWith(head: Buffer, bom: Buffer): boolean {
  return head.subarray(0, bom.length).equals(bom)
}

/** `345 bytes`, `12 KiB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  const [amount, unit] =
    bytes < 2 ** 20
      ? [bytes / 2 ** 10, 'KiB']
      : bytes < 2 ** 30
        ? [bytes / 2 ** 20, 'MiB']
        : [bytes / 2 ** 30, 'GiB']
  return `${amount < 10 ? Number(amount.toFixed(1)) : Math.round(amount)} ${unit}`
}
