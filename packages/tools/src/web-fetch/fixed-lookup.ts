import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** A lookup function that always returns these addresses, which have been checked. */
export function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}
