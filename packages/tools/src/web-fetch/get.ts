import type { LookupAddress } from 'node:dns'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { connectionFailure } from './failures.ts'
import { addressOf } from './target.ts'

/**
 * Asks for one page on a connection of its own, to one of these addresses. Resolves with the head; the body is there to be read. The
 * signal ends the connection, whatever is left of it.
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
    // Nothing is kept open, and no proxy of the environment stands between: it would look the name up again.
    agent: false,
    lookup: only(addresses),
    // Node's 250 ms give up on an address on the other side of the world.
    autoSelectFamilyAttemptTimeout: 1_000,
    maxHeaderSize: 64 * 1024,
  }
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(options)
  return new Promise((resolve, reject) => {
    const fail = (error?: unknown) => reject(connectionFailure(url, error))
    request.on('response', (response) => {
      // After this it is the reader of the body who hears of errors, if there is one.
      response.on('error', () => {})
      resolve(response)
    })
    request.on('upgrade', (_, socket) => socket.destroy())
    request.on('error', fail)
    request.on('close', fail)
    request.end()
  })
}

/** Answers every question with what was found, and checked, before. */
export function only(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}
