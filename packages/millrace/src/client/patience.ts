import type { MillraceError } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import { interrupted } from './failures.ts'
import type { ReconnectOptions } from './options.ts'

export interface Retry {
  readonly attempts: number
  readonly baseMs: number
  readonly maxDelayMs: number
}

export function withDefaults({ attempts = 4, baseMs = 250, maxDelayMs = 10_000 }: ReconnectOptions): Retry {
  return { attempts, baseMs, maxDelayMs }
}

/** How long to wait after so many failures in a row: longer each time, and never quite alike for two clients. */
export function delayAfter(failures: number, { baseMs, maxDelayMs }: Retry, retryAfterMs = 0): number {
  const backoff = Math.min(baseMs * 2 ** (failures - 1), maxDelayMs)
  // Those who were cut off together must not come back together.
  return Math.max(retryAfterMs, backoff * (0.5 + Math.random() / 2))
}

/** Waits for something, but no longer than `ms`, nor past an abort. Leaves neither a timer nor a listener behind. */
export function within<Value>(
  work: Promise<Value>,
  { op, ms, signal, tooLong }: { op: string; ms: number; signal: AbortSignal; tooLong: () => MillraceError },
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      cancel()
      signal.removeEventListener('abort', abort)
    }
    const fail = (error: unknown) => {
      leave()
      reject(error)
    }
    const abort = () => fail(interrupted(op))
    const cancel = systemClock.after(ms, () => fail(tooLong()))
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    work.then((value) => {
      leave()
      resolve(value)
    }, fail)
  })
}
