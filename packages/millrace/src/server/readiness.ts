import { isMillraceError, systemClock } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'

/** Whether requests should be sent here. */
export interface Readiness {
  readonly status: 'ready' | 'unready'
  /** What is wrong, as sentences. Empty if it is ready. */
  readonly problems: readonly string[]
  /** How long the store took to answer; absent if it has not. */
  readonly storeMs?: number
  /** How long a new request waited for the event loop in the last seconds, on average; absent where that cannot be measured. */
  readonly loopDelayMs?: number
}

/** How long an answer is reused, so that a flood of requests costs one check a second. */
const cachedMs = 1000
/** How long the store may take to answer. Probes of Kubernetes wait for a second. */
const storeDeadlineMs = 500
/** As when one turn of 200 ms follows another, or the loop stood still for a second. */
const mostLoopDelayMs = 100

/** Finds out whether an app is ready, in half a second at most, whatever hangs. */
export function readinessOf(app: App): () => Promise<Readiness> {
  let last: { readonly at: number; readonly readiness: Promise<Readiness> } | undefined
  let reading: Promise<boolean> | undefined

  /** One row, past the line of writes; a thread that is not there is an answer as well. One that hangs is not asked again. */
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

  async function look(): Promise<Readiness> {
    const began = systemClock.now()
    const store = await within(storeDeadlineMs, readStore())
    const storeMs = Math.round(systemClock.now() - began)
    const loopDelayMs = await measureLoop()
    const problems: string[] = []
    if (store === undefined) problems.push(`the store has not answered for ${storeDeadlineMs} ms`)
    else if (!store) problems.push('the store cannot be read')
    if (loopDelayMs !== undefined && loopDelayMs > mostLoopDelayMs)
      problems.push(`the event loop lags: ${loopDelayMs} ms, over ${mostLoopDelayMs}`)
    return {
      status: problems.length > 0 ? 'unready' : 'ready',
      problems,
      ...(store && { storeMs }),
      ...(loopDelayMs !== undefined && { loopDelayMs }),
    }
  }

  return () => {
    const now = systemClock.now()
    if (!last || now - last.at >= cachedMs) last = { at: now, readiness: look() }
    return last.readiness
  }
}

/** Only where readiness is asked for, and only Node can tell. */
async function measureLoop(): Promise<number | undefined> {
  const measured = await import('./loop-delay.ts').catch(() => undefined)
  return measured?.loopDelayMs()
}

/** Undefined if it takes longer. */
function within<Value>(ms: number, work: Promise<Value>): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const cancel = systemClock.after(ms, () => resolve(undefined))
    void work.then((value) => {
      cancel()
      resolve(value)
    })
  })
}
