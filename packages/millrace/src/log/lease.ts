/**
 * Whether a lease that was given for `leaseMs`, and ends at `due`, has run out. So has one that ends more than twice that from now,
 * since the clock was set back: it would hold its thread up for as long. (A clock that is set back by less delays it by less than
 * another lease. Steps of a few milliseconds are common, and must not take a thread from its owner.)
 */
export function isExpired(due: number, leaseMs: number, now: number): boolean {
  return due <= now || due > now + 2 * leaseMs
}
