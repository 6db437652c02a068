/**
 * An iterator that can be given up while somebody waits for it: a generator by itself would hear of that only at its next
 * entry. `signal` is aborted then, and when the caller's own is.
 */
export function endable<Value>(
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
