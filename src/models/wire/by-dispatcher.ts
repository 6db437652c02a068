import type { AnswerHeaders, HttpAnswer, HttpRequest } from './http-answer.ts'

/**
 * What Node's `fetch` itself sends its requests with. It stands in the open so that the `undici` of npm can set another for a
 * proxy, and its name carries the version of the interface below: https://github.com/nodejs/undici/blob/main/lib/global.js
 */
const dispatcherKey = Symbol.for('undici.globalDispatcher.1')

interface Dispatcher {
  dispatch(
    request: {
      origin: string
      path: string
      method: string
      headers: Readonly<Record<string, string>>
      body: string | null
      /** 0 is for ever: an agent has limits of its own. */
      headersTimeout: number
      bodyTimeout: number
    },
    handler: {
      onConnect(abort: (reason?: Error) => void): void
      /** Names and values by turns. Also called for what goes before the answer, such as 103. */
      onHeaders(status: number, headers: readonly (Uint8Array | string)[], resume: () => void): boolean
      /** False if no more is wanted until `resume` is called. */
      onData(chunk: Uint8Array): boolean
      onComplete(): void
      onError(error: Error): void
    },
  ): boolean
}

/** Nothing outside Node; and nothing where somebody has put another `fetch` in place, who wants to see every request. */
export function nodesDispatcher(): Dispatcher | undefined {
  if (!isNodesOwn(globalThis.fetch)) return undefined
  // Looking at it is what makes Node load all this.
  void globalThis.Response
  const dispatcher = (globalThis as { [dispatcherKey]?: Partial<Dispatcher> })[dispatcherKey]
  return typeof dispatcher?.dispatch === 'function' ? (dispatcher as Dispatcher) : undefined
}

let known: { readonly fetch: unknown; readonly own: boolean } = { fetch: undefined, own: false }

function isNodesOwn(fetch: unknown): boolean {
  if (known.fetch !== fetch) {
    const source = typeof fetch === 'function' ? Function.prototype.toString.call(fetch) : ''
    known = { fetch, own: source.includes("require('internal/deps/undici/undici')") && usesThisInterface() }
  }
  return known.own
}

/** From undici 8 on, `fetch` itself looks under another name, and so may whoever sets a proxy. */
function usesThisInterface(): boolean {
  const { process } = globalThis as { process?: { versions?: { undici?: string } } }
  return Number.parseInt(process?.versions?.undici ?? '', 10) < 8
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

  function begin() {
    dispatcher.dispatch(
      {
        origin,
        path,
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'user-agent': 'millrace', 'accept-encoding': 'identity', ...headers },
        body: body ?? null,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      {
        onConnect(abort) {
          stop = abort
          if (end) abort()
        },
        onHeaders(status, raw, resumeBody) {
          if (status < 200) return true
          resume = resumeBody
          const found = lookup(raw)
          const encoding = found.get('content-encoding')
          answer.resolve({
            status,
            headers: found,
            isRedirect: status >= 300 && status < 400,
            ...(encoding && /\b(gzip|deflate|br|zstd)\b/i.test(encoding) && { encoding }),
            read,
            close,
          })
          return true
        },
        onData(chunk) {
          if (end) return true
          chunks.push(chunk)
          held += chunk.length
          wake()
          paused = held >= plenty
          return !paused
        },
        onComplete: () => finish(),
        onError: (error) => finish(error),
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
