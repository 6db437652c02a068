/**
 * Resolves like the promise, or rejects with the signal's reason if that is aborted first. Removes
 * its listener.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort))
}
