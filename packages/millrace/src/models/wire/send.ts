import { byDispatcher, nodesDispatcher } from './by-dispatcher.ts'
import type { Fetch, HttpAnswer, HttpRequest } from './http-answer.ts'

/**
 * Sends a request. With no fetch of the caller's own, in Node, it goes to the connections that `fetch` uses and not through
 * `fetch` itself, whose web streams cost more than all the rest of a short answer.
 */
export async function send(request: HttpRequest, fetch: Fetch | undefined): Promise<HttpAnswer> {
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
    const options: RequestInit = {
      ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
      headers,
      signal: own.signal,
      redirect: 'manual',
    }
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
