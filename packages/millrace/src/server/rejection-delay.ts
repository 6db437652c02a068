import { sleep, systemClock } from '../protocol/index.ts'
import { tokenBuckets } from '../protocols/index.ts'

/**
 * Waits before a response is sent, if it is a rejection and its address has had many of them. The
 * signal ends the wait early.
 */
export type DelayRejection = (
  status: number,
  address: string | undefined,
  signal?: AbortSignal,
) => Promise<void> | undefined

/** How many rejections a second are sent without a delay, with bursts of ten times as many. */
const perSecond = 5
const delayMs = 1000

const delayedStatuses: ReadonlySet<number> = new Set([401, 429])

/**
 * A rejection can cost as much as a response. A client that retries in a tight loop gets each
 * further rejection a second late.
 */
export function rejectionDelay(): DelayRejection {
  const buckets = tokenBuckets({ perSecond, burst: 10 * perSecond })
  return (status, address, signal) => {
    if (address === undefined || !delayedStatuses.has(status) || buckets.of(address).take() === 0)
      return undefined
    return sleep(delayMs, { clock: systemClock, ...(signal && { signal }) })
  }
}
