import { isMillraceError, systemClock } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import { loopDelayMs } from './loop-delay.ts'

/** Whether requests should be sent here. */
export interface Readiness {
  readonly status: 'ready' | 'unready'
  /** What is wrong, as sentences. Empty if the server is ready. */
  readonly problems: readonly string[]
  /** How long the store took to answer. Absent if it did not answer. */
  readonly storeMs?: number
  /**
   * How long new requests waited for the event loop on average. Absent if it cannot be measured.
   */
  readonly loopDelayMs?: number
}

/** How long a result is reused, so that a flood of requests costs one check per second. */
const cachedMs = 1000
/** How long the store may take to answer. Kubernetes probes time out after a second. */
const storeDeadlineMs = 500
/** Reached with continuous turns of 200 ms, or if the loop was blocked for a second. */
const maxLoopDelayMs = 100

/** Checks whether an app is ready. Takes at most half a second, whatever hangs. */
export function readinessOf(app: App): () => Promise<Readiness> {
  let last: { readonly at: number; readonly readiness: Promise<Readiness> } | undefined
  let reading: Promise<boolean> | undefined

  /**
   * Reads one row, without waiting for queued writes. `not_found` also means that the store works.
   * While one read hangs, no further one is started.
   */
  function readStore(): Promise<boolean> {
    reading ??= app
      .thread('readyz')
      .info()
      .then(
        () => true,
        (error: unknown) => isMillraceError(error) && error.code === 'not_found',
      )
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  async function check(): Promise<Readiness> {
    const startedAt = systemClock.now()
    const store = await withTimeout(storeDeadlineMs, readStore())
    const storeMs = Math.round(systemClock.now() - startedAt)
    const lagMs = loopDelayMs()
    const problems: string[] = []
    if (store === undefined) problems.push(`the store did not answer within ${storeDeadlineMs} ms`)
    else if (!store) problems.push('the store cannot be read')
    if (lagMs !== undefined && lagMs > maxLoopDelayMs)
      problems.push(`the event loop lags by ${lagMs} ms, more than ${maxLoopDelayMs} ms`)
    return {
      status: problems.length > 0 ? 'unready' : 'ready',
      problems,
      ...(store && { storeMs }),
      ...(lagMs !== undefined && { loopDelayMs: lagMs }),
    }
  }

  return () => {
    const now = systemClock.now()
    if (!last || now - last.at >= cachedMs) last = { at: now, readiness: check() }
    return last.readiness
  }
}

/** Resolves with undefined if it takes longer. */
function withTimeout<Value>(ms: number, work: Promise<Value>): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const cancel = systemClock.after(ms, () => resolve(undefined))
    void work.then((value) => {
      cancel()
      resolve(value)
    })
  })
}
