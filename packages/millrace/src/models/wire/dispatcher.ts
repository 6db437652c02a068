import type { HttpRequest, HttpResponse, ResponseHeaders } from './http-response.ts'

interface DispatchOptions {
  origin: string
  path: string
  method: string
  headers: Readonly<Record<string, string>>
  body: string | null
  /** 0 means no limit: the agent has its own timeouts. */
  headersTimeout: number
  bodyTimeout: number
  allowH2?: boolean
}

interface Controller {
  abort(reason?: Error): void
  pause(): void
  resume(): void
}

type ParsedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** `onResponseStart` is also called for informational responses such as 103. */
interface Handler {
  onRequestStart(controller: Controller): void
  onResponseStart(controller: Controller, status: number, headers: ParsedHeaders): void
  onResponseData(controller: Controller, chunk: Uint8Array): void
  onResponseEnd(): void
  onResponseError(controller: Controller | null, error: Error): void
}

/** The interface of undici 7 and older. */
interface LegacyHandler {
  onConnect(abort: (reason?: Error) => void): void
  /** `headers` alternates names and values. */
  onHeaders(status: number, headers: readonly (Uint8Array | string)[], resume: () => void): boolean
  /** Returns false to pause until `resume` is called. */
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  onError(error: Error): void
}

/**
 * undici's dispatcher, which sends the requests of Node's `fetch`, with either version of its
 * interface.
 */
export type Dispatcher =
  | { readonly version: 1; dispatch(options: DispatchOptions, handler: LegacyHandler): boolean }
  | { readonly version: 2; dispatch(options: DispatchOptions, handler: Handler): boolean }

/** Undefined outside Node, and if `fetch` was replaced: the replacement must see every request. */
export function nodeDispatcher(): Dispatcher | undefined {
  if (!isNodeFetch(globalThis.fetch)) return undefined
  // Reading this makes Node load undici.
  void globalThis.Response
  const { process } = globalThis as { process?: { versions?: { undici?: string } } }
  // Node 22 and 24 have undici 6 and 7, Node 26 has undici 8.
  const version = Number.parseInt(process?.versions?.undici ?? '', 10) < 8 ? 1 : 2
  // Public, so that the npm package `undici` can set a proxy. Its name has the version of the
  // interface:
  // https://github.com/nodejs/undici/blob/main/lib/global.js
  const key = Symbol.for(`undici.globalDispatcher.${version}`)
  const found = (globalThis as { [key: symbol]: Partial<Dispatcher> | undefined })[key]
  if (typeof found?.dispatch !== 'function') return undefined
  return { version, dispatch: found.dispatch.bind(found) } as Dispatcher
}

let checked: { readonly fetch: unknown; readonly isNode: boolean } = { fetch: undefined, isNode: false }

function isNodeFetch(fetch: unknown): boolean {
  if (checked.fetch !== fetch) {
    const sourceText = typeof fetch === 'function' ? Function.prototype.toString.call(fetch) : ''
    checked = { fetch, isNode: sourceText.includes("require('internal/deps/undici/undici')") }
  }
  return checked.isNode
}

let latest = { url: '', origin: '', path: '' }

/** Caches the latest URL: a model sends every request to the same one. */
function addressOf(url: string): { readonly origin: string; readonly path: string } {
  if (latest.url !== url) {
    const { origin, pathname, search } = new URL(url)
    latest = { url, origin, path: `${pathname}${search}` }
  }
  return latest
}

/** The socket is paused while this many bytes wait to be read. */
const maxHeldBytes = 64 * 1024

export function sendByDispatcher(request: HttpRequest, dispatcher: Dispatcher): Promise<HttpResponse> {
  const { url, headers, body, signal } = request
  const { origin, path } = addressOf(url)
  const response = Promise.withResolvers<HttpResponse>()
  let chunks: Uint8Array[] = []
  let heldBytes = 0
  let paused = false
  let resume = () => {}
  let stop: (reason?: Error) => void = () => {}
  let end: { readonly error?: unknown } | undefined
  /** Wakes a `read()` that waits for bytes or for the end. */
  let wake = () => {}

  function finish(error?: unknown) {
    if (end) return
    end = { error }
    signal.removeEventListener('abort', close)
    // No effect once the response has started.
    response.reject(error ?? new Error('the connection ended before a response started'))
    wake()
  }

  function close() {
    if (end) return
    const reason = new Error('the response was closed')
    chunks = []
    response.reject(reason)
    finish()
    stop(reason)
  }

  async function read(): Promise<Uint8Array | undefined> {
    if (chunks.length === 0 && !end)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    if (chunks.length > 0) {
      const bytes = concat(chunks, heldBytes)
      chunks = []
      heldBytes = 0
      if (paused) {
        paused = false
        resume()
      }
      return bytes
    }
    if (end?.error) throw end.error
    return undefined
  }

  function connect(abort: (reason?: Error) => void) {
    stop = abort
    if (end) abort()
  }

  function respond(status: number, responseHeaders: ResponseHeaders, resumeBody: () => void) {
    if (status < 200) return
    resume = resumeBody
    const encoding = responseHeaders.get('content-encoding')
    response.resolve({
      status,
      headers: responseHeaders,
      isRedirect: status >= 300 && status < 400,
      ...(encoding && /\b(gzip|deflate|br|zstd)\b/i.test(encoding) && { encoding }),
      read,
      close,
    })
  }

  /** Returns false to pause until `resume` is called. */
  function receive(chunk: Uint8Array): boolean {
    if (end) return true
    chunks.push(chunk)
    heldBytes += chunk.length
    wake()
    paused = heldBytes >= maxHeldBytes
    return !paused
  }

  function dispatch() {
    const options = {
      origin,
      path,
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'user-agent': 'millrace', 'accept-encoding': 'identity', ...headers },
      body: body ?? null,
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    if (dispatcher.version === 1)
      dispatcher.dispatch(options, {
        onConnect: connect,
        onHeaders(status, raw, resumeBody) {
          respond(status, headersOf(raw), resumeBody)
          return true
        },
        onData: receive,
        onComplete: () => finish(),
        onError: finish,
      })
    else
      dispatcher.dispatch(
        // One connection per response, as before undici 8: with HTTP/2, some versions of it send no
        // POST while another response is open:
        // https://github.com/nodejs/undici/issues/5524
        { ...options, allowH2: false },
        {
          onRequestStart: (controller) => connect((reason) => controller.abort(reason)),
          onResponseStart: (controller, status, parsed) =>
            respond(status, headersOf(flatHeaders(parsed)), () => controller.resume()),
          onResponseData(controller, chunk) {
            if (!receive(chunk)) controller.pause()
          },
          onResponseEnd: () => finish(),
          onResponseError: (_, error) => finish(error),
        },
      )
  }

  signal.addEventListener('abort', close)
  if (signal.aborted) close()
  try {
    if (!end) dispatch()
  } catch (thrown) {
    finish(thrown)
  }
  return response.promise
}

/** One read of the socket brings many small pieces; processing them together is cheaper. */
function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (first && chunks.length === 1) return first
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Alternating names and values. */
const flatHeaders = (headers: ParsedHeaders) =>
  Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().flatMap((one) => [name, one]))

const latin1 = new TextDecoder('latin1')

function headersOf(raw: readonly (Uint8Array | string)[]): ResponseHeaders {
  const decode = (part: Uint8Array | string) => (typeof part === 'string' ? part : latin1.decode(part))
  return {
    get(name) {
      for (let at = 0; at + 1 < raw.length; at += 2) {
        const key = raw[at] ?? ''
        if (key.length === name.length && decode(key).toLowerCase() === name) return decode(raw[at + 1] ?? '')
      }
      return null
    },
    *[Symbol.iterator]() {
      for (let at = 0; at + 1 < raw.length; at += 2)
        yield [decode(raw[at] ?? '').toLowerCase(), decode(raw[at + 1] ?? '')] as const
    },
  }
}
