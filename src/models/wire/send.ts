import { byDispatcher, nodesDispatcher } from './by-dispatcher.ts'
import type { HeaderLookup } from './retry-after.ts'

/** `fetch`, or something that behaves like it: through a proxy, with another agent, recorded, signed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A POST. */
export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/** An answer whose body is being read, whichever way it was sent for. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: HeaderLookup
  /** It leads elsewhere; in browsers not even the status is to be seen of that. */
  readonly isRedirect: boolean
  /** How the bytes are compressed, where nobody has undone that. */
  readonly encoding?: string
  /** The next bytes, or nothing at the end. Rejects if the connection breaks; ends if the signal is aborted. One call at a time. */
  read(): Promise<Uint8Array | undefined>
  /** Lets go of the connection, and of the signal. To be called in the end, whatever came of it. */
  close(): void
}

/**
 * Sends a request. With no fetch of the caller's own, in Node, it goes to the connections that `fetch` uses and not through
 * `fetch` itself, whose web streams cost more than all the rest of a short answer.
 */
export function send(request: HttpRequest, fetch: Fetch | undefined): Promise<HttpAnswer> {
  if (fetch) return byFetch(request, fetch)
  const dispatcher = nodesDispatcher()
  return dispatcher
    ? byDispatcher(request, dispatcher)
    : byFetch(request, (...args) => globalThis.fetch(...args))
}

async function byFetch({ url, headers, body, signal }: HttpRequest, fetch: Fetch): Promise<HttpAnswer> {
  // Node's fetch leaves its listener on a signal until it is collected, and a signal may live for many requests.
  const own = new AbortController()
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const cancel = () => void reader?.cancel().catch(() => {})
  const abort = () => {
    own.abort(signal.reason)
    // A fetch of the caller's own may not have heard of the signal.
    cancel()
  }
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    // Followed to another host, it would take `x-api-key` and the conversation there.
    const options: RequestInit = { method: 'POST', headers, body, signal: own.signal, redirect: 'manual' }
    const response = await fetch(url, options)
    reader = (response.body ?? new Blob([]).stream()).getReader()
    if (signal.aborted) cancel()
    const bytes = reader
    const { status } = response
    return {
      status,
      headers: response.headers,
      isRedirect: response.type === 'opaqueredirect' || (status >= 300 && status < 400),
      read: async () => (await bytes.read()).value,
      close() {
        signal.removeEventListener('abort', abort)
        cancel()
      },
    }
  } catch (thrown) {
    signal.removeEventListener('abort', abort)
    throw thrown
  }
}
