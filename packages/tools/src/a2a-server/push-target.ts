import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns'
import { messageOf } from 'millrace/internal'
import { nodeHttp, nodeHttps } from '../node-http.ts'
import type { AllowList } from '../web-fetch/allow-list.ts'
import { fixedLookup } from '../web-fetch/fixed-lookup.ts'
import { findAddresses, notPublicAmong } from '../web-fetch/resolve.ts'
import { addressOf, hostOf } from '../web-fetch/target.ts'
import type { PushConfig } from './push-store.ts'

const timeoutMs = 15_000

/**
 * The addresses of a URL that may be notified. Rejects with an explanation for any other: it must be
 * public and use HTTPS, unless its host is allowed.
 */
export async function checkTarget(
  url: URL,
  { allowed, signal }: { readonly allowed: AllowList; readonly signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const host = hostOf(url)
  const found = await findAddresses(url, { lookup, signal })
  if (allowed.host(host) || found.every(({ address }) => allowed.address(address))) return found
  if (url.protocol !== 'https:') throw new Error("the URL of a push notification must start with 'https://'")
  const what = notPublicAmong(found.filter(({ address }) => !allowed.address(address)))
  if (what) throw new Error(`'${host}' is ${what}, and push notifications are only sent to public ones`)
  return found
}

/** Sends a notification once. Rejects unless the receiver accepts it. Redirects are not followed. */
export async function notify(
  { url: text, token, scheme, credentials }: PushConfig,
  body: string,
  { allowed, signal }: { readonly allowed: AllowList; readonly signal: AbortSignal },
): Promise<void> {
  const url = new URL(text)
  const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  // Checked each time, since the name may have another address by now.
  const addresses = await checkTarget(url, { allowed, signal: until })
  const { request } = url.protocol === 'https:' ? nodeHttps() : nodeHttp()
  const status = await new Promise<number>((resolve, reject) => {
    const sent = request({
      method: 'POST',
      host: addressOf(url),
      ...(url.port && { port: url.port }),
      path: url.pathname + url.search,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'a2a-version': '1.0',
        // The name that the official SDKs use: the specification has none.
        ...(token && { 'x-a2a-notification-token': token }),
        ...(scheme && { authorization: credentials ? `${scheme} ${credentials}` : scheme }),
      },
      signal: until,
      agent: false,
      lookup: fixedLookup(addresses),
    })
    sent.on('response', (response) => {
      response.on('error', () => {})
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    sent.on('error', (error) => reject(new Error(`the receiver cannot be reached: ${messageOf(error)}`)))
    sent.end(body)
  })
  if (status < 200 || status > 299) throw new Error(`the receiver answered with status ${status}`)
}
