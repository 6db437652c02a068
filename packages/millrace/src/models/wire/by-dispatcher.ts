import type { AnswerHeaders, HttpAnswer, HttpRequest } from './http-answer.ts'

interface DispatchOptions {
  origin: string
  path: string
  method: string
  headers: Readonly<Record<string, string>>
  body: string | null
  /** 0 means no limit: an agent has limits of its own. */
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

/** Informational responses, such as 103, start a response as well. */
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
  /** Names and values by turns. */
  onHeaders(status: number, headers: readonly (Uint8Array | string)[], resume: () => void): boolean
  /** False if no more is wanted until `resume` is called. */
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  onError(error: Error): void
}

/** What Node's `fetch` sends its requests with: undici's, in the one or the other version of its interface. */
export type Dispatcher =
  | { readonly version: 1; dispatch(options: DispatchOptions, handler: LegacyHandler): boolean }
  | { readonly version: 2; dispatch(options: DispatchOptions, handler: Handler): boolean }

/** Undefined outside Node, and where `fetch` has been replaced: the replacement wants to see every request. */
export function nodesDispatcher(): Dispatcher | undefined {
  if (!isNodesOwn(globalThis.fetch)) return undefined
  // Reading this makes Node load undici.
  void globalThis.Response
  const { process } = globalThis as { process?: { versions?: { undici?: string } } }
  // Node 22 and 24 have undici 6 and 7, Node 26 has undici 8.
  const version = Number.parseInt(process?.versions?.undici ?? '', 10) < 8 ? 1 : 2
  // It is public so that the `undici` of npm can set a proxy, and its name carries the version of the interface:
  // https://github.com/nodejs/undici/blob/main/lib/global.js
  const key = Symbol.for(`undici.globalDispatcher.${version}`)
  const found = (globalThis as { [key: symbol]: Partial<Dispatcher> | undefined })[key]
  if (typeof found?.dispatch !== 'function') return undefined
  return { version, dispatch: found.dispatch.bind(found) } as Dispatcher
}

let known: { readonly fetch: unknown; readonly own: boolean } = { fetch: undefined, own: false }

function isNodesOwn(fetch: unknown): boolean {
  if (known.fetch !== fetch) {
    const source = typeof fetch === 'function' ? Function.prototype.toString.call(fetch) : ''
    known = { fetch, own: source.includes("require('internal/deps/undici/undici')") }
  }
  return known.own
}

let address = { url: '', origin: '', path: '' }

/** A model sends every request to the same place. */
function addressOf(url: string): { readonly origin: string; readonly path: string } {
  if (address.url !== url) {
    const { origin, pathname, search } = new URL(url)
    address = { url, origin, path: `${pathname}${search}` }
  }
  return address
}

/** A reader that does not come for this many bytes gets no more for the time being. */
const plenty = 64 * 1024

export function byDispatcher(request: HttpRequest, dispatcher: Dispatcher): Promise<HttpAnswer> {
  const { url, headers, body, signal } = request
  const { origin, path } = addressOf(url)
  const answer = Promise.withResolvers<HttpAnswer>()
  let chunks: Uint8Array[] = []
  let held = 0
  let paused = false
  let resume = () => {}
  let stop: (reason?: Error) => void = () => {}
  let end: { readonly error?: unknown } | undefined
  /** Wakes whoever waits for bytes, or for the end. */
  let wake = () => {}

  function finish(error?: unknown) {
    if (end) return
    end = { error }
    signal.removeEventListener('abort', close)
    // Means nothing once it has been answered.
    answer.reject(error ?? new Error('the connection ended before an answer began'))
    wake()
  }

  function close() {
    if (end) return
    const reason = new Error('the answer is not wanted any more')
    chunks = []
    answer.reject(reason)
    finish()
    stop(reason)
  }

  async function read(): Promise<Uint8Array | undefined> {
    if (chunks.length === 0 && !end)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    if (chunks.length > 0) {
      const bytes = joined(chunks, held)
      chunks = []
      held = 0
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

  function respond(status: number, found: AnswerHeaders, resumeBody: () => void) {
    if (status < 200) return
    resume = resumeBody
    const encoding = found.get('content-encoding')
    answer.resolve({
      status,
      headers: found,
      isRedirect: status >= 300 && status < 400,
      ...(encoding && /\b(gzip|deflate|br|zstd)\b/i.test(encoding) && { encoding }),
      read,
      close,
    })
  }

  /** False if no more is wanted until `resume` is called. */
  function take(chunk: Uint8Array): boolean {
    if (end) return true
    chunks.push(chunk)
    held += chunk.length
    wake()
    paused = held >= plenty
    return !paused
  }

  function begin() {
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
          respond(status, lookup(raw), resumeBody)
          return true
        },
        onData: take,
        onComplete: () => finish(),
        onError: finish,
      })
    else
      dispatcher.dispatch(
        // One connection for each answer, as before undici 8, which sends no POST beside an open answer in some of its versions:
        // https://github.com/nodejs/undici/issues/5524
        { ...options, allowH2: false },
        {
          onRequestStart: (controller) => connect((reason) => controller.abort(reason)),
          onResponseStart: (controller, status, parsed) =>
            respond(status, lookup(flat(parsed)), () => controller.resume()),
          onResponseData(controller, chunk) {
            if (!take(chunk)) controller.pause()
          },
          onResponseEnd: () => finish(),
          onResponseError: (_, error) => finish(error),
        },
      )
  }

  signal.addEventListener('abort', close)
  if (signal.aborted) close()
  try {
    if (!end) begin()
  } catch (thrown) {
    finish(thrown)
  }
  return answer.promise
}

/** A server sends many small pieces, and one read of the socket brings a number of them: to go through them together is cheaper. */
function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
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

/** Names and values by turns. */
const flat = (headers: ParsedHeaders) =>
  Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().flatMap((one) => [name, one]))

const latin1 = new TextDecoder('latin1')

function lookup(raw: readonly (Uint8Array | string)[]): AnswerHeaders {
  const written = (part: Uint8Array | string) => (typeof part === 'string' ? part : latin1.decode(part))
  return {
    get(name) {
      for (let at = 0; at + 1 < raw.length; at += 2) {
        const key = raw[at] ?? ''
        if (key.length === name.length && written(key).toLowerCase() === name)
          return written(raw[at + 1] ?? '')
      }
      return null
    },
    *[Symbol.iterator]() {
      for (let at = 0; at + 1 < raw.length; at += 2)
        yield [written(raw[at] ?? '').toLowerCase(), written(raw[at + 1] ?? '')] as const
    },
  }
}
