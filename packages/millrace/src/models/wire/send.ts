import { isNodeFetch, loadedDispatcher, sendByDispatcher } from './dispatcher.ts'
import type { Fetch, HttpRequest, HttpResponse } from './http-response.ts'
import { sendByHttp } from './node-http.ts'

/**
 * Sends a request. In Node, without a custom `fetch`, it does not use `fetch`: its web streams cost
 * more than all the rest of a short response, and loading it more than all the rest of a long one. If
 * it is loaded anyway, requests share its connections, and its proxy if it has one.
 */
export async function send(request: HttpRequest, fetch: Fetch | undefined): Promise<HttpResponse> {
  if (fetch) return sendByFetch(request, fetch)
  // A replacement must see every request.
  if (!isNodeFetch(globalThis.fetch)) return sendByFetch(request, (...args) => globalThis.fetch(...args))
  const dispatcher = loadedDispatcher()
  const response = await (dispatcher ? sendByDispatcher(request, dispatcher) : sendByHttp(request))
  if (response.encoding === undefined) return response
  return (await import('./decompress.ts')).decompressed(response)
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

/** The whole body as text. Releases the connection. */
export async function readBody(response: HttpResponse): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = await response.read(); bytes; bytes = await response.read())
      text += decoder.decode(bytes, { stream: true })
  } finally {
    response.close()
  }
  return text
}
