import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { meantAddress, notPublic } from './addresses.ts'
import type { Allowed } from './allowed.ts'
import { lookupFailure } from './failures.ts'
import { addressOf, hostOf } from './target.ts'
import { untilAborted } from './until-aborted.ts'

/** Finds the addresses of a name, as `dns.lookup` does with `all`. */
export type Lookup = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * The addresses to connect to, and no others: a name that is looked up again may answer differently. One address that is not
 * public makes all of them suspect.
 */
export async function resolveHost(
  url: URL,
  { lookup, allowed, signal }: { lookup: Lookup; allowed: Allowed; signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const host = hostOf(url)
  const found = await findAddresses(url, { lookup, signal })
  if (allowed.host(host)) return found
  const what = notPublicAmong(found.filter(({ address }) => !allowed.address(address)))
  if (what)
    throw new Error(
      `${host} ${isIP(addressOf(url)) ? 'is' : 'leads to'} ${what}, and only public ones may be fetched. Fetch a public page instead, or ask the person to allow this host`,
    )
  return found
}

/** At least one address. Rejects with a sentence for the model if there is none. */
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

/** What the first that is not public is. The address itself is not told: which machines there are inside is private. */
export function notPublicAmong(found: readonly LookupAddress[]): string | undefined {
  return found.map(({ address }) => notPublic(meantAddress(address))).find((what) => what !== undefined)
}

function ask(lookup: Lookup, name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) =>
      error ? reject(lookupFailure(name, error)) : resolve(addresses),
    )
  })
}
