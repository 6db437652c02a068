import type { ClientRequest, RequestOptions } from 'node:http'
import { Exchange } from './exchange.ts'
import type { HttpRequest, HttpResponse } from './http-response.ts'

interface Address {
  readonly url: string
  readonly options: RequestOptions
  readonly send: (options: RequestOptions) => ClientRequest
}

let latest: Address | undefined

/** Caches the latest URL: a model sends every request to the same one. */
function addressOf(url: string): Address {
  if (latest?.url === url) return latest
  // An `import` would load `fetch` too: node:http exports WebSocket, which is a part of it.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  const options = process.getBuiltinModule('node:url').urlToHttpOptions(new URL(url))
  latest = { url, options, send: request }
  return latest
}

/**
 * Sends a request with `node:http`. Loading `fetch` and sending a first request with it takes about
 * 80 ms of CPU time, more than a long answer; here it takes 15.
 */
export function sendByHttp(request: HttpRequest): Promise<HttpResponse> {
  const { url, headers, body, signal } = request
  const response = Promise.withResolvers<HttpResponse>()
  const exchange = new Exchange(signal, response)
  if (signal.aborted) exchange.close()
  else
    try {
      const { options, send } = addressOf(url)
      const outgoing = send({
        ...options,
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'user-agent': 'millrace', 'accept-encoding': 'identity', ...headers },
      })
      const fail = (error: unknown) => exchange.onError(error)
      exchange.onConnect((reason) => outgoing.destroy(reason))
      outgoing.on('error', fail)
      outgoing.on('response', (incoming) => {
        exchange.onHeaders(incoming.statusCode ?? 0, incoming.rawHeaders, () => incoming.resume())
        incoming.on('data', (chunk: Uint8Array) => {
          if (!exchange.onData(chunk)) incoming.pause()
        })
        incoming.on('end', () => exchange.onComplete())
        incoming.on('error', fail)
      })
      outgoing.end(body)
    } catch (thrown) {
      exchange.onError(thrown)
    }
  return response.promise
}
