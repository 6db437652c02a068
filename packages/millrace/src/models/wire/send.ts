import { nodeDispatcher, sendByDispatcher } from './dispatcher.ts'
import type { Fetch, HttpRequest, HttpResponse } from './http-response.ts'

/**
 * Sends a request. In Node, without a custom `fetch`, it uses the connection pool of `fetch`
 * directly: the web streams of `fetch` cost more than all the rest of a short response.
 */
export async function send(request: HttpRequest, fetch: Fetch | undefined): Promise<HttpResponse> {
  if (fetch) return sendByFetch(request, fetch)
  const dispatcher = nodeDispatcher()
  return dispatcher
    ? sendByDispatcher(request, dispatcher)
    : sendByFetch(request, (...args) => globalThis.fetch(...args))
}

async function sendByFetch({ url, headers, body, signal }: HttpRequest, fetch: Fetch): Promise<HttpResponse> {
  // Node's fetch leaves its listener on a signal until garbage collection; one signal may serve
  // many requests.
  const controller = new AbortController()
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const cancel = () => void reader?.cancel().catch(() => {})
  const abort = () => {
    controller.abort(signal.reason)
    // A custom fetch may ignore the signal.
    cancel()
  }
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    // Following a redirect to another host would send `x-api-key` and the conversation there.
    const options: RequestInit = {
      ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
      headers,
      signal: controller.signal,
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
