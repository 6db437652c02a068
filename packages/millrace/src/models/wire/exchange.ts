import type { HttpResponse, ResponseHeaders } from './http-response.ts'

/** The socket is paused while this many bytes wait to be read. */
const maxHeldBytes = 64 * 1024

/**
 * A response over a connection of Node, whose events it takes. One object, since it is made for every
 * request.
 */
export class Exchange implements HttpResponse {
  status = 0
  headers = noHeaders
  encoding: string | undefined
  readonly #signal: AbortSignal
  /** Until the response starts. */
  #response: PromiseWithResolvers<HttpResponse> | undefined
  #chunks: Uint8Array[] = []
  #heldBytes = 0
  #paused = false
  #end: { readonly error?: unknown } | undefined
  #resume: (() => void) | undefined
  #stop: ((reason?: Error) => void) | undefined
  /** Wakes a `read()` that waits for bytes or for the end. */
  #wake: (() => void) | undefined

  constructor(signal: AbortSignal, response: PromiseWithResolvers<HttpResponse>) {
    this.#signal = signal
    this.#response = response
    signal.addEventListener('abort', this.close)
  }

  get isRedirect() {
    return this.status >= 300 && this.status < 400
  }

  get hasEnded() {
    return this.#end !== undefined && this.#chunks.length === 0
  }

  async read(): Promise<Uint8Array | undefined> {
    this.headers = noHeaders
    if (this.#chunks.length === 0 && !this.#end)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    if (this.#chunks.length > 0) {
      const bytes = concat(this.#chunks, this.#heldBytes)
      this.#chunks = []
      this.#heldBytes = 0
      if (this.#paused) {
        this.#paused = false
        this.#resume?.()
      }
      return bytes
    }
    if (this.#end?.error) throw this.#end.error
    return undefined
  }

  close = () => {
    if (this.#end) return
    const reason = new Error('the response was closed')
    this.#chunks = []
    this.#finish(undefined, reason)
    this.#stop?.(reason)
  }

  onConnect(abort: (reason?: Error) => void) {
    this.#stop = abort
    if (this.#end) abort()
  }

  onHeaders(status: number, raw: readonly (Uint8Array | string)[], resume: () => void): boolean {
    if (status < 200) return true
    this.#resume = resume
    this.status = status
    this.headers = new RawHeaders(raw)
    const encoding = this.headers.get('content-encoding')
    if (encoding && /\b(gzip|deflate|br|zstd)\b/i.test(encoding)) this.encoding = encoding
    this.#response?.resolve(this)
    this.#response = undefined
    return true
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#end) return true
    this.#chunks.push(chunk)
    this.#heldBytes += chunk.length
    this.#wake?.()
    this.#paused = this.#heldBytes >= maxHeldBytes
    return !this.#paused
  }

  onComplete() {
    this.#finish()
  }

  onError(error: unknown) {
    this.#finish(error)
  }

  #finish(error?: unknown, reason = error) {
    if (this.#end) return
    this.#end = { error }
    this.#signal.removeEventListener('abort', this.close)
    // An error is created only if it is needed: its stack trace takes longer than the rest of this.
    this.#response?.reject(reason ?? new Error('the connection ended before a response started'))
    this.#wake?.()
  }
}

/** There are no such responses outside Node. */
declare const Buffer: { concat(chunks: readonly Uint8Array[], length: number): Uint8Array }

/** One read of the socket brings many small pieces; processing them together is cheaper. */
function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  return first && chunks.length === 1 ? first : Buffer.concat(chunks, length)
}

interface NodeBuffer {
  toString(encoding: 'latin1'): string
}

class RawHeaders implements ResponseHeaders {
  /** Alternating names and values. */
  readonly #raw: readonly (Uint8Array | string)[]

  constructor(raw: readonly (Uint8Array | string)[]) {
    this.#raw = raw
  }

  get(name: string): string | null {
    for (let at = 0; at + 1 < this.#raw.length; at += 2)
      // The length of most names differs, and comparing it costs less than decoding.
      if (this.#raw[at]?.length === name.length && this.#text(at).toLowerCase() === name)
        return this.#text(at + 1)
    return null
  }

  *[Symbol.iterator]() {
    for (let at = 0; at + 1 < this.#raw.length; at += 2)
      yield [this.#text(at).toLowerCase(), this.#text(at + 1)] as const
  }

  #text(at: number): string {
    const part = this.#raw[at] ?? ''
    return typeof part === 'string' ? part : (part as unknown as NodeBuffer).toString('latin1')
  }
}

const noHeaders: ResponseHeaders = new RawHeaders([])
