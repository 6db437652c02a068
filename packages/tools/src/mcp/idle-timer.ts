/** Ends a call that is silent for too long, or takes too long in total. A pause does not count. */
export interface IdleTimer {
  restart(): void
  pause(): void
  end(): void
}

export function idleTimer(
  { timeoutMs, maxTimeoutMs }: { readonly timeoutMs: number; readonly maxTimeoutMs: number },
  onTimeout: (afterMs: number) => void,
): IdleTimer {
  let left = maxTimeoutMs
  let since = performance.now()
  let timer: NodeJS.Timeout | undefined
  let hasEnded = false

  function stop() {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    left -= performance.now() - since
  }

  function restart() {
    stop()
    if (hasEnded) return
    since = performance.now()
    const waitMs = Math.max(0, Math.min(timeoutMs, left))
    if (waitMs < 2 ** 31) timer = setTimeout(() => onTimeout(waitMs), waitMs)
  }

  restart()
  return {
    restart,
    pause: stop,
    end() {
      stop()
      hasEnded = true
    },
  }
}
