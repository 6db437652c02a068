import type { LookupAddress } from 'node:dns'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { nodeHttp, nodeHttps } from '../node-http.ts'
import { acceptEncoding } from './body.ts'
import { connectionFailure } from './failures.ts'
import { fixedLookup } from './fixed-lookup.ts'
import { addressOf } from './target.ts'

/**
 * Requests a page over a new connection to one of these addresses. Resolves when the headers arrive; the
 * body is read from the response. The signal ends the connection at any time.
 */
export function get(
  url: URL,
  {
    addresses,
    headers,
    signal,
  }: {
    addresses: readonly LookupAddress[]
    headers: Readonly<Record<string, string>>
    signal: AbortSignal
  },
): Promise<IncomingMessage> {
  const options: RequestOptions & { autoSelectFamilyAttemptTimeout: number } = {
    host: addressOf(url),
    ...(url.port && { port: url.port }),
    path: url.pathname + url.search,
    headers: { ...headers, 'accept-encoding': acceptEncoding },
    signal,
    // No keep-alive, and no proxy from the environment, which would look up the name again.
    agent: false,
    lookup: fixedLookup(addresses),
    // Node's default of 250 ms is too short for distant servers.
    autoSelectFamilyAttemptTimeout: 1_000,
    maxHeaderSize: 64 * 1024,
  }
  const http = url.protocol === 'https:' ? nodeHttps() : nodeHttp()
  const request = http.request(options)
  return new Promise((resolve, reject) => {
    const fail = (error?: unknown) => reject(connectionFailure(url, error))
    request.on('response', (response) => {
      // From here on, the reader of the body gets errors, if there is one.
      response.on('error', () => {})
      resolve(response)
    })
    request.on('upgrade', (_, socket) => socket.destroy())
    request.on('error', fail)
    request.on('close', fail)
    request.end()
  })
}
