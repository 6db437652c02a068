import type { TokenBucket } from '../protocols/index.ts'
import { httpError, tokenBucket } from '../protocols/index.ts'

// Failed sign-ins are limited by address, since they may be guesses and `auth` may be slow. Many
// users can share an address (an office, a mobile network), so their failures are kept apart as far
// as possible:
// - Credentials that `auth` has accepted before always reach it. The failures of other users can
//   only delay a first sign-in.
// - Credentials that have failed before are not a new guess. When they are sent again, for example
//   by a page with an old token, they count against an allowance of their own, as large as that of
//   the address.
// At any time, `auth` handles at most as many unproven requests as may still fail. The others wait
// for the outcome, so that sending many guesses at once does not bypass the limit.

export interface SignIns {
  /**
   * Returns the result of `ask` for a request. Rejects with 429, without calling `ask`, if too many
   * sign-ins from this address have failed. Without an address there is no limit: with one limit
   * for all clients, any of them could lock out the others.
   */
  attempt<Found>(request: Request, address: string | undefined, ask: () => Promise<Found>): Promise<Found>
}

/** The allowance of an address, or of credentials that have failed from an address. */
interface Allowance {
  readonly failures: TokenBucket
  /** How many requests `auth` is checking. */
  asking: number
  answered: PromiseWithResolvers<void>
}

/** How many addresses and credentials are remembered. The oldest are forgotten first. */
const maxKnown = 10_000

export function signIns({ perMinute }: { perMinute: number }): SignIns {
  const allowances = new Map<string, Allowance>()
  const proven = new Map<number, true>()
  const retryAfterMs = Math.ceil(60_000 / perMinute)

  function allowanceOf(key: string): Allowance {
    const found = allowances.get(key) ?? {
      failures: tokenBucket({ perSecond: perMinute / 60, burst: perMinute }),
      asking: 0,
      answered: Promise.withResolvers(),
    }
    keep(allowances, key, found)
    return found
  }

  function countFailure(address: string, repeated: string) {
    if (!allowances.has(repeated)) allowanceOf(address).failures.take()
    allowanceOf(repeated).failures.take()
  }

  async function attemptUnproven<Found>(address: string, repeated: string, ask: () => Promise<Found>) {
    const pick = () => allowanceOf(allowances.has(repeated) ? repeated : address)
    let allowance = pick()
    while (allowance.asking >= allowance.failures.left()) {
      if (allowance.asking === 0)
        throw httpError(429, 'rate_limit', 'too many failed sign-ins from this address: try again later', {
          retryAfterMs,
        })
      await allowance.answered.promise
      allowance = pick()
    }
    allowance.asking++
    try {
      const found = await ask()
      if (!found) countFailure(address, repeated)
      return found
    } finally {
      allowance.asking--
      allowance.answered.resolve()
      allowance.answered = Promise.withResolvers()
      const isUnused = allowance.asking === 0 && allowance.failures.isFull()
      if (isUnused && allowances.get(address) === allowance) allowances.delete(address)
    }
  }

  return {
    async attempt(request, address, ask) {
      if (address === undefined) return ask()
      const credentials = credentialsOf(request)
      const repeated = `${address} ${credentials}`
      if (!proven.has(credentials)) {
        const found = await attemptUnproven(address, repeated, ask)
        if (found && credentials !== noCredentials) keep(proven, credentials, true)
        return found
      }
      const found = await ask()
      if (found) keep(proven, credentials, true)
      else if (proven.delete(credentials)) countFailure(address, repeated)
      return found
    },
  }
}

function keep<Key, Value>(known: Map<Key, Value>, key: Key, value: Value) {
  known.delete(key)
  known.set(key, value)
  if (known.size <= maxKnown) return
  const [oldest] = known.keys()
  known.delete(oldest as Key)
}

/** Stands for a request without credentials. */
const noCredentials = -1
const secretName = /auth|cookie|token|key|secret|session|jwt|cert/i
/** Named like secrets, but different with each request. */
const notCredentials = new Set([
  ...['sec-websocket-key', 'idempotency-key', 'mcp-session-id', 'x-claude-code-session-id'],
])

/** A hash of everything in a request that looks like credentials. */
function credentialsOf({ headers, url }: Request): number {
  const values = [...headers, ...new URL(url).searchParams]
  const secrets = values.filter(([name]) => secretName.test(name) && !notCredentials.has(name))
  return secrets.length > 0 ? hash(secrets.join('\n')) : noCredentials
}

/** Made with the first hash: workerd has no random values while modules load. */
let seed: number | undefined

/**
 * 53 bits, so that no credentials are stored. The only effect of a collision is that one more guess
 * reaches `auth`.
 */
function hash(text: string): number {
  seed ??= crypto.getRandomValues(new Uint32Array(1))[0] as number
  let [high, low] = [seed, ~seed]
  for (let at = 0; at < text.length; at++) {
    high = Math.imul(high ^ text.charCodeAt(at), 0x9e3779b1)
    low = Math.imul(low ^ text.charCodeAt(at), 0x5f356495)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return (high >>> 11) * 2 ** 32 + (low >>> 0)
}
