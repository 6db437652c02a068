/**
 * Whether a lease of `leaseMs` that ends at `due` has expired. It also counts as expired if it ends
 * more than twice `leaseMs` from now: the clock was set back, and the lease would block its thread
 * for that long. If the clock is set back by less, the delay is shorter than one more lease. Steps
 * of a few milliseconds are common and must not take a thread from its owner.
 */
export function isExpired(due: number, leaseMs: number, now: number): boolean {
  return due <= now || due > now + 2 * leaseMs
}
