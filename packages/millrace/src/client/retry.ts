import type { MillraceError } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import { abortedError } from './errors.ts'
import type { ReconnectOptions } from './options.ts'

export interface Retry {
  readonly attempts: number
  readonly baseMs: number
  readonly maxDelayMs: number
}

export function withDefaults({ attempts = 4, baseMs = 250, maxDelayMs = 10_000 }: ReconnectOptions): Retry {
  return { attempts, baseMs, maxDelayMs }
}

/** The delay after a number of failures in a row: exponential backoff with jitter. */
export function delayAfter(failures: number, { baseMs, maxDelayMs }: Retry, retryAfterMs = 0): number {
  const backoff = Math.min(baseMs * 2 ** (failures - 1), maxDelayMs)
  // Clients that were disconnected together must not reconnect together.
  return Math.max(retryAfterMs, backoff * (0.5 + Math.random() / 2))
}

/**
 * Waits for `work`, at most `ms`, and until the signal is aborted. Leaves no timer or listener
 * behind.
 */
export function withTimeout<Value>(
  work: Promise<Value>,
  {
    op,
    ms,
    signal,
    onTimeout,
  }: { op: string; ms: number; signal: AbortSignal; onTimeout: () => MillraceError },
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cleanUp = () => {
      cancel()
      signal.removeEventListener('abort', abort)
    }
    const fail = (error: unknown) => {
      cleanUp()
      reject(error)
    }
    const abort = () => fail(abortedError(op))
    const cancel = systemClock.after(ms, () => fail(onTimeout()))
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    work.then((value) => {
      cleanUp()
      resolve(value)
    }, fail)
  })
}
