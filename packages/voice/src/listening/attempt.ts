import { type Clock, MillraceError } from 'millrace'

/** What came of it. */
export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: unknown }

export interface AttemptOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** When this is aborted, nobody waits any more. */
  readonly signal: AbortSignal
  /** What is done, for the message: `the transcriber`. */
  readonly who: string
}

/**
 * Does what may throw, fail, or never end, and does not wait longer than it should: what goes on behind it is told to stop, and may go on.
 * Never rejects.
 */
export function attempt<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  { clock, timeoutMs, signal, who }: AttemptOptions,
): Promise<Outcome<Value>> {
  return new Promise((resolve) => {
    const stop = new AbortController()
    const settle = (outcome: Outcome<Value>) => {
      cancel()
      signal.removeEventListener('abort', left)
      resolve(outcome)
    }
    const give = (error: unknown) => {
      settle({ ok: false, error })
      stop.abort(error)
    }
    const left = () => give(signal.reason)
    const cancel = clock.after(timeoutMs, () =>
      give(
        new MillraceError({
          op: 'listener',
          code: 'timeout',
          message: `${who} took longer than ${timeoutMs} ms`,
        }),
      ),
    )
    if (signal.aborted) return left()
    signal.addEventListener('abort', left)
    // Somebody else's may throw before it promises anything.
    const done = async () => work(stop.signal)
    done().then(
      (value) => settle({ ok: true, value }),
      (error) => settle({ ok: false, error: error ?? new Error(`${who} failed`) }),
    )
  })
}
