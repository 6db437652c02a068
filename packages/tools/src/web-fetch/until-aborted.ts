/** What the promise gives, unless the signal is aborted first: then rejects with its reason. Leaves no listener behind. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const give = () => reject(signal.reason)
  if (signal.aborted) give()
  signal.addEventListener('abort', give)
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', give))
}
