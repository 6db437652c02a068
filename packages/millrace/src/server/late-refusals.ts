import { sleep, systemClock } from '../protocol/index.ts'
import { tokenBuckets } from '../protocols/index.ts'

/** Waits before an answer is given, if it is one more refusal for an address that has had many. Ends early with the signal. */
export type HoldBack = (
  status: number,
  address: string | undefined,
  signal?: AbortSignal,
) => Promise<void> | undefined

/** So many refusals a second come at once; ten times as many if there were none for a while. */
const perSecond = 5
const lateMs = 1000

const refusals: ReadonlySet<number> = new Set([401, 429])

/** A refusal takes as much time as many an answer. A client that asks again as soon as it has one gets the next a second late. */
export function lateRefusals(): HoldBack {
  const buckets = tokenBuckets({ perSecond, burst: 10 * perSecond })
  return (status, address, signal) => {
    if (address === undefined || !refusals.has(status) || buckets.of(address).take() === 0) return undefined
    return sleep(lateMs, { clock: systemClock, ...(signal && { signal }) })
  }
}
