import type { MillraceError, Model } from '../protocol/index.ts'

export interface RetryOptions {
  /** How often a request is sent to one model before the next is tried; 1 never repeats it. */
  readonly attempts?: number | undefined
  /** The first wait, on average; each further one is twice as long. */
  readonly baseMs?: number | undefined
  /** The longest wait. A provider that asks for more is given up at once. */
  readonly maxDelayMs?: number | undefined
}

export type RetryPolicy = Readonly<Record<keyof RetryOptions, number>>

/** Which model to send to, and how often more. One that failed for good is not gone back to in the same run. */
export interface Retries {
  readonly model: Model
  /** Takes a failure; tells how long to wait before sending again to `model`, or nothing if it is hopeless. */
  failed(error: MillraceError): number | undefined
  /** Switches to the first model that fits. False if none does. */
  use(fits: (model: Model) => boolean): boolean
  succeeded(): void
}

export function retries(models: readonly Model[], { attempts, baseMs, maxDelayMs }: RetryPolicy): Retries {
  let index = 0
  let failures = 0
  let empty = 0
  return {
    get model() {
      return models[index] as Model
    },
    use(fits) {
      const found = models.findIndex(fits)
      if (found >= 0) index = found
      return found >= 0
    },
    failed({ code, retryable, retryAfterMs = 0 }) {
      failures++
      if (code === 'empty_answer') empty++
      // A model that answers with nothing twice will not do better a third time.
      if (retryable && failures < attempts && empty < 2 && retryAfterMs <= maxDelayMs) {
        const backoff = Math.min(baseMs * 2 ** (failures - 1), maxDelayMs)
        // Jitter, so that those who failed together do not come back together.
        return Math.max(retryAfterMs, backoff * (0.5 + Math.random() / 2))
      }
      if (index + 1 >= models.length) return undefined
      index++
      failures = empty = 0
      return 0
    },
    succeeded() {
      failures = empty = 0
    },
  }
}
