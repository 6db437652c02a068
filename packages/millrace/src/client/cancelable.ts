/**
 * An iterator that can be canceled while its `next()` is pending: a plain generator would only
 * notice at its next value. `signal` is aborted by `return()`, and by the outer signal.
 */
export function cancelable<Value>(
  outer: AbortSignal | undefined,
  generate: (signal: AbortSignal) => AsyncGenerator<Value, undefined>,
): AsyncIterableIterator<Value, undefined> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  async function* run(): AsyncGenerator<Value, undefined> {
    outer?.addEventListener('abort', abort)
    if (outer?.aborted) abort()
    try {
      return yield* generate(controller.signal)
    } finally {
      outer?.removeEventListener('abort', abort)
    }
  }
  const running = run()
  return {
    next: () => running.next(),
    return() {
      abort()
      return running.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
