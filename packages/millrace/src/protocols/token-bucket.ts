import { systemClock } from '../protocol/index.ts'

export interface TokenBucket {
  /** Takes one. 0 if there was one, else how many milliseconds it takes until there is. */
  take(): number
  /** Takes so many, also if there are not as many: then it takes longer until there are some again. */
  spend(count: number): void
  /** How many could be taken now. */
  left(): number
  /** Nothing has been taken lately: it is as good as new. */
  isFull(): boolean
}

/** From so many on those that are full are forgotten. */
const many = 1000

/** One for each name. */
export function tokenBuckets(options: { perSecond: number; burst: number }): {
  of(name: string): TokenBucket
} {
  const buckets = new Map<string, TokenBucket>()
  return {
    of(name) {
      const known = buckets.get(name)
      if (known) return known
      if (buckets.size >= many) for (const [name, { isFull }] of buckets) if (isFull()) buckets.delete(name)
      const bucket = tokenBucket(options)
      buckets.set(name, bucket)
      return bucket
    },
  }
}

/** `burst` at once, and `perSecond` in the long run. */
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
  }
}
