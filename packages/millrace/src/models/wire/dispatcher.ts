import { Exchange } from './exchange.ts'
import type { HttpRequest, HttpResponse } from './http-response.ts'

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
  onError(error: unknown): void
}

/**
 * undici's dispatcher, which sends the requests of Node's `fetch`, with either version of its
 * interface.
 */
export type Dispatcher =
  | { readonly version: 1; dispatch(options: DispatchOptions, handler: LegacyHandler): boolean }
  | { readonly version: 2; dispatch(options: DispatchOptions, handler: Handler): boolean }

/** The dispatcher of this process. Undefined until something uses `fetch`, or has set it. */
export function loadedDispatcher(): Dispatcher | undefined {
  known ??= versionOf()
  const found = (globalThis as { [key: symbol]: Partial<Dispatcher> | undefined })[known.key]
  if (typeof found?.dispatch !== 'function') return undefined
  return { version: known.version, dispatch: found.dispatch.bind(found) } as Dispatcher
}

let known: { readonly version: 1 | 2; readonly key: symbol } | undefined

function versionOf() {
  const { process } = globalThis as { process?: { versions?: { undici?: string } } }
  // Node 22 and 24 have undici 6 and 7, Node 26 has undici 8.
  const version = Number.parseInt(process?.versions?.undici ?? '', 10) < 8 ? 1 : 2
  // Public, so that the npm package `undici` can set a proxy. Its name has the version of the
  // interface:
  // https://github.com/nodejs/undici/blob/main/lib/global.js
  return { version, key: Symbol.for(`undici.globalDispatcher.${version}`) } as const
}

let checked: { readonly fetch: unknown; readonly isNode: boolean } = { fetch: undefined, isNode: false }

export function isNodeFetch(fetch: unknown): boolean {
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

export function sendByDispatcher(request: HttpRequest, dispatcher: Dispatcher): Promise<HttpResponse> {
  const { url, headers, body, signal } = request
  const response = Promise.withResolvers<HttpResponse>()
  const exchange = new Exchange(signal, response)
  const { origin, path } = addressOf(url)
  const options = {
    origin,
    path,
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'user-agent': 'millrace', 'accept-encoding': 'identity', ...headers },
    body: body ?? null,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (signal.aborted) exchange.close()
  else
    try {
      if (dispatcher.version === 1) dispatcher.dispatch(options, exchange)
      // One connection per response, as before undici 8: with HTTP/2, some versions of it send no
      // POST while another response is open:
      // https://github.com/nodejs/undici/issues/5524
      else dispatcher.dispatch({ ...options, allowH2: false }, handlerOf(exchange))
    } catch (thrown) {
      exchange.onError(thrown)
    }
  return response.promise
}

function handlerOf(exchange: Exchange): Handler {
  return {
    onRequestStart: (controller) => exchange.onConnect((reason) => controller.abort(reason)),
    onResponseStart(controller, status, parsed) {
      exchange.onHeaders(status, flatHeaders(parsed), () => controller.resume())
    },
    onResponseData(controller, chunk) {
      if (!exchange.onData(chunk)) controller.pause()
    },
    onResponseEnd: () => exchange.onComplete(),
    onResponseError: (_, error) => exchange.onError(error),
  }
}

/** Alternating names and values. */
const flatHeaders = (headers: ParsedHeaders) =>
  Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().flatMap((one) => [name, one]))
