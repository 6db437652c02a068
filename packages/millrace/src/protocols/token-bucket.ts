import { systemClock } from '../protocol/index.ts'

export interface TokenBucket {
  /** Takes one token. Returns 0, or, if there is none, the milliseconds until there is one. */
  take(): number
  /** Takes tokens even if there are not enough. The bucket then goes into debt. */
  spend(count: number): void
  /** How many tokens can be taken now. */
  left(): number
  /** Whether the bucket is full, like a new one. */
  isFull(): boolean
  /** The milliseconds until the bucket is full. */
  fullInMs(): number
}

/** From this many buckets on, full ones are forgotten. */
const pruneAbove = 1000

/** One bucket per name. */
export function tokenBuckets(options: { perSecond: number; burst: number }): {
  of(name: string): TokenBucket
} {
  const buckets = new Map<string, TokenBucket>()
  return {
    of(name) {
      const known = buckets.get(name)
      if (known) return known
      if (buckets.size >= pruneAbove)
        for (const [name, { isFull }] of buckets) if (isFull()) buckets.delete(name)
      const bucket = tokenBucket(options)
      buckets.set(name, bucket)
      return bucket
    },
  }
}

/** Allows `burst` at once, and `perSecond` in the long run. */
export function tokenBucket({
  perSecond,
  burst,
  now = systemClock.now,
}: {
  perSecond: number
  burst: number
  now?: () => number
}): TokenBucket {
  let tokens = burst
  let at = now()
  const refill = () => {
    const time = now()
    tokens = Math.min(burst, tokens + ((time - at) / 1000) * perSecond)
    at = time
  }
  return {
    take() {
      refill()
      if (tokens < 1) return Math.ceil(((1 - tokens) / perSecond) * 1000)
      tokens -= 1
      return 0
    },
    spend(count) {
      refill()
      tokens -= count
    },
    left() {
      refill()
      return Math.floor(tokens)
    },
    isFull() {
      refill()
      return tokens >= burst
    },
    fullInMs() {
      refill()
      return Math.ceil(((burst - tokens) / perSecond) * 1000)
    },
  }
}
