import type { Entry, MillraceError } from '../protocol/index.ts'
import { sleep, systemClock, toMillraceError } from '../protocol/index.ts'
import type { Connect } from './connection.ts'
import { streamError } from './errors.ts'
import type { ReconnectOptions } from './options.ts'
import { delayAfter, withDefaults } from './retry.ts'

export interface FollowSettings {
  readonly op: string
  readonly connect: Connect
  /** A promise if the number has to be requested from the server. */
  readonly after: number | Promise<number>
  readonly signal: AbortSignal
  readonly retry: ReconnectOptions
  readonly onRetry: ((error: MillraceError, delayMs: number) => void) | undefined
  readonly onOpen: (() => void) | undefined
}

/**
 * The entries of a thread after a number, each exactly once, over as many connections as needed.
 * Ends when the signal is aborted, the thread is deleted, or the server has sent everything that
 * was requested. Throws errors that retrying cannot fix.
 */
export async function* entries(following: FollowSettings): AsyncGenerator<Entry, undefined> {
  const { op, connect, signal, onRetry, onOpen } = following
  let retry = withDefaults(following.retry)
  if (signal.aborted) return
  const aborted = new Promise<number>((resolve) => signal.addEventListener('abort', () => resolve(0)))
  let last = await Promise.race([following.after, aborted])
  let opened = false
  /**
   * Failures in a row without an entry in between, so that a server that accepts and cuts every
   * connection is not retried at full speed.
   */
  let failures = 0
  let gapError: MillraceError | undefined

  function onRetryHint(ms: number) {
    if (following.retry.baseMs === undefined && ms > 0) retry = { ...retry, baseMs: ms }
  }

  while (!signal.aborted) {
    let openSince: number | undefined
    try {
      for await (const batch of connect({ after: last, signal, onRetryHint })) {
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
            // A gap, or deltas joined across the cursor. Reconnecting from `last` fixes both.
            gapError = streamError(op, `the server sent entries ${from} to ${seq} after entry ${last}`)
            throw gapError
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
      // The thread was deleted.
      if (opened && error.code === 'not_found') return
      // A connection that lasted was fine, even if there were no entries.
      if (openSince !== undefined && systemClock.now() - openSince >= retry.maxDelayMs) failures = 0
      failures++
      // A server that has worked before is retried forever, unless it keeps sending gaps.
      const isFinal = failures >= retry.attempts && (!opened || error === gapError)
      if (!error.retryable || isFinal) throw error
      const delayMs = delayAfter(failures, retry, error.retryAfterMs)
      onRetry?.(error, delayMs)
      await sleep(delayMs, { clock: systemClock, signal })
    }
  }
}
