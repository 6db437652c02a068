import type { Entry, MillraceError } from '../protocol/index.ts'
import { sleep, systemClock, toMillraceError } from '../protocol/index.ts'
import type { Connect } from './connection.ts'
import { broken } from './failures.ts'
import type { ReconnectOptions } from './options.ts'
import { delayAfter, withDefaults } from './patience.ts'

export interface Following {
  readonly op: string
  readonly connect: Connect
  /** A promise where the server has to be asked. */
  readonly after: number | Promise<number>
  readonly signal: AbortSignal
  readonly retry: ReconnectOptions
  readonly onRetry: ((error: MillraceError, delayMs: number) => void) | undefined
  readonly onOpen: (() => void) | undefined
}

/**
 * The entries of a thread from a number on, each number once, over as many connections as that takes. Ends with the signal,
 * with the thread, or when the server has told all that was asked for; throws what no waiting makes good.
 */
export async function* entries(following: Following): AsyncGenerator<Entry, undefined> {
  const { op, connect, signal, onRetry, onOpen } = following
  let retry = withDefaults(following.retry)
  if (signal.aborted) return
  const aborted = new Promise<number>((resolve) => signal.addEventListener('abort', () => resolve(0)))
  let last = await Promise.race([following.after, aborted])
  let opened = false
  /** In a row, and nothing told in between: whoever cuts every connection at once is not asked at full speed. */
  let failures = 0
  let nonsense: MillraceError | undefined

  function onRetryWish(ms: number) {
    if (following.retry.baseMs === undefined && ms > 0) retry = { ...retry, baseMs: ms }
  }

  while (!signal.aborted) {
    let openSince: number | undefined
    try {
      for await (const batch of connect({ after: last, signal, onRetryWish })) {
        opened = true
        if (openSince === undefined) {
          openSince = systemClock.now()
          onOpen?.()
        }
        if (batch === 'end') return
        for (const entry of batch) {
          const { seq, from = seq } = entry
          if (seq <= last) continue
          if (from !== last + 1) {
            // A gap, or deltas joined over the cursor. Neither can be mended here; asked from `last` again, a server tells it right.
            nonsense = broken(op, `after ${last} the server sent ${from} to ${seq}`)
            throw nonsense
          }
          last = seq
          failures = 0
          yield entry
          if (signal.aborted) return
        }
      }
    } catch (thrown) {
      if (signal.aborted) return
      const error = toMillraceError(thrown, { op, code: 'stream_error' })
      // It was there and is not any more.
      if (opened && error.code === 'not_found') return
      // One that lasted was a good one, even if there was nothing to tell.
      if (openSince !== undefined && systemClock.now() - openSince >= retry.maxDelayMs) failures = 0
      failures++
      // A server that was there once comes back one day; one that cannot count will not learn to.
      const hopeless = failures >= retry.attempts && (!opened || error === nonsense)
      if (!error.retryable || hopeless) throw error
      const delayMs = delayAfter(failures, retry, error.retryAfterMs)
      onRetry?.(error, delayMs)
      await sleep(delayMs, { clock: systemClock, signal })
    }
  }
}
