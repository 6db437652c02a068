/** The media type in a Content-Type header. */
export interface MediaType {
  /** Such as `text/html`, in lower case; empty if missing or invalid. */
  readonly name: string
  readonly charset: string
}

export type BodyKind = 'page' | 'text' | 'image' | 'unknown' | 'binary'

export function mediaTypeOf(header = ''): MediaType {
  const [name = '', ...parameters] = header.toLowerCase().split(';')
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]+)/.exec(one)?.[1]).find(Boolean)
  return {
    name: /^[\w.+-]+\/[\w.+-]+$/.test(name.trim()) ? name.trim().slice(0, 100) : '',
    charset: charset ?? '',
  }
}

const textual =
  /^(text\/.+|image\/svg\+xml|.+\+(json|xml|yaml)|application\/(json|jsonl|x-ndjson|xml|yaml|toml|javascript|ecmascript|typescript|sql|graphql|rtf))$/

/**
 * `unknown` is decided by `sniff`: much of what is served as `application/octet-stream` or `x-…` is
 * text.
 */
export function bodyKindOf({ name }: MediaType): BodyKind {
  if (name === 'text/html' || name === 'application/xhtml+xml') return 'page'
  if (textual.test(name)) return 'text'
  if (/^image\/(png|jpe?g|gif|webp)$/.test(name)) return 'image'
  return name === '' || /^application\/(octet-stream|x-.+)$/.test(name) ? 'unknown' : 'binary'
}

/**
 * The kind of a body by its bytes: MIME Sniffing §7, reduced to pages, text and images that models
 * can see.
 */
export function sniff(bytes: Buffer): BodyKind {
  if (imageTypeOf(bytes)) return 'image'
  const head = bytes.subarray(0, 1445)
  if (/^\s*<(!doctype html|html|head|body)\b/i.test(head.toString('latin1').replace(/^ï»¿/, '')))
    return 'page'
  const isUtf16 = (head[0] === 0xfe && head[1] === 0xff) || (head[0] === 0xff && head[1] === 0xfe)
  return !isUtf16 && head.some(isBinary) ? 'binary' : 'text'
}

/** The type of an image by its first bytes: providers reject an image with the wrong media type. */
export function imageTypeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 12)
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(head)) return 'image/gif'
  return /^RIFF.{4}WEBP/s.test(head) ? 'image/webp' : undefined
}

/** A binary data byte: MIME Sniffing §3. */
function isBinary(byte: number): boolean {
  return byte <= 8 || byte === 11 || (byte >= 14 && byte <= 26) || (byte >= 28 && byte <= 31)
}
