import type { MillraceError, Model } from '../protocol/index.ts'

export interface RetryOptions {
  /** How often a request is sent to one model before the next is tried; 1 for no retries. */
  readonly attempts?: number | undefined
  /** The first delay, doubled for each further retry, before jitter. */
  readonly baseMs?: number | undefined
  /** The longest delay. If a provider asks for more, it is not retried. */
  readonly maxDelayMs?: number | undefined
}

export type RetryPolicy = Readonly<Record<keyof RetryOptions, number>>

/**
 * Selects the model for the next request. A model that failed for good is not used again in the
 * same run.
 */
export interface ModelSelector {
  readonly model: Model
  /**
   * Returns the delay before the next request to `model`, or undefined if nothing is left to try.
   */
  onFailure(error: MillraceError): number | undefined
  /** Switches to the first model that fits. Returns false if none does. */
  select(fits: (model: Model) => boolean): boolean
  onSuccess(): void
}

export function modelSelector(
  models: readonly Model[],
  { attempts, baseMs, maxDelayMs }: RetryPolicy,
): ModelSelector {
  let index = 0
  let failures = 0
  let emptyAnswers = 0
  function use(next: number) {
    index = next
    selector.model = models[index] as Model
  }

  const selector = {
    model: models[index] as Model,
    select(fits: (model: Model) => boolean) {
      const found = models.findIndex(fits)
      if (found >= 0) use(found)
      return found >= 0
    },
    onFailure({ code, retryable, retryAfterMs = 0 }: MillraceError) {
      failures++
      if (code === 'empty_answer') emptyAnswers++
      // A model that returned an empty answer twice is unlikely to succeed a third time.
      if (retryable && failures < attempts && emptyAnswers < 2 && retryAfterMs <= maxDelayMs) {
        const backoff = Math.min(baseMs * 2 ** (failures - 1), maxDelayMs)
        // Jitter, so that requests that failed together are not retried together.
        return Math.max(retryAfterMs, backoff * (0.5 + Math.random() / 2))
      }
      if (index + 1 >= models.length) return undefined
      use(index + 1)
      failures = emptyAnswers = 0
      return 0
    },
    onSuccess() {
      failures = emptyAnswers = 0
    },
  }
  return selector
}
