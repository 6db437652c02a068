import type { LookupAddress } from 'node:dns'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { connectionFailure } from './failures.ts'
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
    headers,
    signal,
    // No keep-alive, and no proxy from the environment, which would look up the name again.
    agent: false,
    lookup: fixedLookup(addresses),
    // Node's default of 250 ms is too short for distant servers.
    autoSelectFamilyAttemptTimeout: 1_000,
    maxHeaderSize: 64 * 1024,
  }
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(options)
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

/** A lookup function that always returns these addresses, which have been checked. */
export function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}
