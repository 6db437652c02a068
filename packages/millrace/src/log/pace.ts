import type { Delivery } from './deliveries.ts'

/** Hands out deliveries, at once or together with those that come soon after. */
export interface Pace {
  readonly isWaiting: boolean
  /** An `urgent` delivery does not wait, and neither do those before it. */
  add(delivery: Delivery, urgent: boolean): void
  /** Hands out what waits. */
  flush(): void
}

/** Rests for this many times as long as handing out took, but no longer than deltas may wait for a commit. */
const restFactor = 8
const maxRestMs = 50
/** No more than this may wait. */
const maxBytes = 16 * 1024

/**
 * A delta for a thousand clients is a thousand system calls: milliseconds, fifty times a second, in
 * which nothing else runs. Resting in between joins two or three deltas into one call.
 */
export function pace(handOut: (delivery: Delivery) => void): Pace {
  let waiting: Delivery | undefined
  let restUntil = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function flush() {
    clearTimeout(timer)
    timer = undefined
    if (!waiting) return
    const delivery = waiting
    waiting = undefined
    const start = performance.now()
    handOut(delivery)
    const end = performance.now()
    restUntil = end + Math.min(maxRestMs, restFactor * (end - start))
  }

  return {
    get isWaiting() {
      return waiting !== undefined
    },
    flush,
    add(delivery, urgent) {
      waiting = waiting
        ? {
            entries: [...waiting.entries, ...delivery.entries],
            bytes: waiting.bytes + delivery.bytes,
          }
        : delivery
      const restMs = restUntil - performance.now()
      if (urgent || restMs <= 0 || waiting.bytes > maxBytes) flush()
      else timer ??= setTimeout(flush, restMs)
    },
  }
}
