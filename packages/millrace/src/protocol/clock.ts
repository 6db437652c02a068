/** The source of time, so that tests can control it. Never goes backwards. */
export interface Clock {
  /** Milliseconds since an arbitrary fixed moment. */
  now(): number
  /** Calls `callback` once after `ms`, unless the returned function is called first. */
  after(ms: number, callback: () => void): () => void
  /** Yields to the event loop, so that due timers, sockets and other runs can proceed. */
  turn(): Promise<void>
}

/** `setTimeout` fires at once for anything longer than this many milliseconds (about 25 days). */
const longestTimer = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    if (ms > longestTimer) {
      let cancel = this.after(longestTimer, () => {
        cancel = this.after(ms - longestTimer, callback)
      })
      return () => cancel()
    }
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  turn: () => new Promise((resolve) => (globalThis.setImmediate ?? setTimeout)(resolve)),
}

/** Calls `callback` every `ms`. Returns a function that stops it. */
export function repeatEvery(ms: number, callback: () => void): () => void {
  const tick = () => {
    cancel = systemClock.after(ms, tick)
    callback()
  }
  let cancel = systemClock.after(ms, tick)
  return () => cancel()
}

/**
 * Resolves after `ms`, or at once when the signal is aborted (the caller checks the signal).
 * Removes its listener.
 */
export function sleep(ms: number, { clock, signal }: { clock: Clock; signal?: AbortSignal }): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = clock.after(ms, wake)
    signal?.addEventListener('abort', wake)
  })
}
