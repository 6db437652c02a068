import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { untilAborted } from '../until-aborted.ts'
import { effectiveAddress, notPublic } from './addresses.ts'
import type { AllowList } from './allow-list.ts'
import { lookupFailure } from './failures.ts'
import { addressOf, hostOf } from './target.ts'

/** Looks up the addresses of a name, like `dns.lookup` with `all`. */
export type Lookup = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * The only addresses to connect to: a second lookup could return different ones. Fails if any address is
 * not public.
 */
export async function resolveHost(
  url: URL,
  { lookup, allowed, signal }: { lookup: Lookup; allowed: AllowList; signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const host = hostOf(url)
  const found = await findAddresses(url, { lookup, signal })
  if (allowed.host(host)) return found
  const what = notPublicAmong(found.filter(({ address }) => !allowed.address(address)))
  if (what)
    throw new Error(
      `${host} ${isIP(addressOf(url)) ? 'is' : 'resolves to'} ${what}, but only public addresses can be fetched. Fetch a public page instead, or ask the user to allow this host`,
    )
  return found
}

/** Returns at least one address. Rejects with an explanation for the model if there is none. */
export async function findAddresses(
  url: URL,
  { lookup, signal }: { lookup: Lookup; signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const address = addressOf(url)
  const family = isIP(address)
  const found = family ? [{ address, family }] : await untilAborted(ask(lookup, address), signal)
  if (found.length === 0) throw lookupFailure(hostOf(url))
  return found
}

/**
 * The kind of the first address that is not public. Does not reveal the address, which is internal.
 */
export function notPublicAmong(found: readonly LookupAddress[]): string | undefined {
  return found.map(({ address }) => notPublic(effectiveAddress(address))).find((what) => what !== undefined)
}

function ask(lookup: Lookup, name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) =>
      error ? reject(lookupFailure(name, error)) : resolve(addresses),
    )
  })
}
