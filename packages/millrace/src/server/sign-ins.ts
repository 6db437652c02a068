import type { TokenBucket } from '../protocols/index.ts'
import { httpError, tokenBucket } from '../protocols/index.ts'

// Failed sign-ins are limited by address, since they may be guesses and `auth` may be slow. Many users can share an address
// (an office, a mobile network), so their failures are kept apart as far as possible:
// - Credentials that `auth` accepted before always reach it. Failures of others can only delay a first sign-in.
// - Credentials that have failed are no new guess. When they come again, as from a page with an old token, they use up an
//   allowance of their own, as large as that of the address.
// No more unproven requests are with `auth` at a time than may still fail; the rest wait for their outcome, so that sending
// many guesses at once does not get around the limit.

export interface SignIns {
  /**
   * What `ask` finds out about the sender of a request. Throws 429 without asking if too many from this address have failed.
   * Without an address nothing is limited: one limit for all clients would let any of them lock out the others.
   */
  attempt<Found>(request: Request, address: string | undefined, ask: () => Promise<Found>): Promise<Found>
}

/** Of an address, or of credentials that have failed from there. */
interface Allowance {
  readonly failures: TokenBucket
  /** Requests that `auth` is looking at. */
  asking: number
  answered: PromiseWithResolvers<void>
}

/** What is known of more addresses or credentials than this is forgotten, the oldest first. */
const mostKnown = 10_000

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
        throw httpError(429, 'rate_limit', 'too many failed sign-ins from this address: wait a little', {
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
        if (found && credentials !== none) keep(proven, credentials, true)
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
  if (known.size <= mostKnown) return
  const [oldest] = known.keys()
  known.delete(oldest as Key)
}

/** What a request has that shows no credentials. */
const none = -1
const secretName = /auth|cookie|token|key|secret|session|jwt|cert/i
/** Named like secrets, but others with each request. */
const notSecret = new Set(['sec-websocket-key', 'idempotency-key', 'mcp-session-id'])

/** Everything in a request that looks like credentials, as a number. */
function credentialsOf({ headers, url }: Request): number {
  const given = [...headers, ...new URL(url).searchParams]
  const secrets = given.filter(([name]) => secretName.test(name) && !notSecret.has(name))
  return secrets.length > 0 ? hash(secrets.join('\n')) : none
}

const seed = crypto.getRandomValues(new Uint32Array(1))[0] as number

/** 53 bits, so that no credentials are kept. Two that fall together let one more guess reach `auth`, and nothing else. */
function hash(text: string): number {
  let [high, low] = [seed, ~seed]
  for (let at = 0; at < text.length; at++) {
    high = Math.imul(high ^ text.charCodeAt(at), 0x9e3779b1)
    low = Math.imul(low ^ text.charCodeAt(at), 0x5f356495)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return (high >>> 11) * 2 ** 32 + (low >>> 0)
}
