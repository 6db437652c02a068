import { type Clock, MillraceError } from 'millrace'

export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: unknown }

export interface AttemptOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Aborting it settles the attempt. */
  readonly signal: AbortSignal
  /** The subject of the error message: `the transcriber`. */
  readonly subject: string
}

/**
 * Runs work that may throw, reject or hang. After the timeout or an abort it stops waiting and
 * aborts the signal of the work, which may ignore it. Never rejects.
 */
export function attempt<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  { clock, timeoutMs, signal, subject }: AttemptOptions,
): Promise<Outcome<Value>> {
  return new Promise((resolve) => {
    const stop = new AbortController()
    const settle = (outcome: Outcome<Value>) => {
      cancel()
      signal.removeEventListener('abort', onAbort)
      resolve(outcome)
    }
    const fail = (error: unknown) => {
      settle({ ok: false, error })
      stop.abort(error)
    }
    const onAbort = () => fail(signal.reason)
    const cancel = clock.after(timeoutMs, () =>
      fail(
        new MillraceError({
          op: 'listener',
          code: 'timeout',
          message: `${subject} took longer than ${timeoutMs} ms`,
        }),
      ),
    )
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    // Custom code may throw synchronously.
    const run = async () => work(stop.signal)
    run().then(
      (value) => settle({ ok: true, value }),
      (error) => settle({ ok: false, error: error ?? new Error(`${subject} failed`) }),
    )
  })
}
