/** A finer resolution costs more: at 20 ms an idle process uses 0.15 % of a CPU. */
const resolutionMs = 20
const windowMs = 5000

let delay: (() => number | undefined) | undefined

/**
 * How long a new request waits for the event loop, on average over the last five to ten seconds.
 * The first call starts the measurement. Unlike a percentile, it does not jump because of a single
 * garbage collection, or because long pauses leave few samples. Undefined on a runtime that cannot
 * measure it.
 */
export function loopDelayMs(): number | undefined {
  delay ??= startMeasuring()
  return delay()
}

function startMeasuring(): () => number | undefined {
  const histogram = openHistogram()
  if (!histogram) return () => undefined
  let since = performance.now()
  let before = 0

  /**
   * A request that arrives during an interval of length d waits d/2 on average, and arrives in it
   * with the probability d/window. The expected wait is the sum of d²/2, divided by the window.
   */
  const now = (): number => {
    const { count } = histogram
    if (count === 0) return 0
    const [mean, deviation] = [histogram.mean / 1e6, histogram.stddev / 1e6]
    const squares = count * (mean ** 2 + deviation ** 2)
    const wait = squares / 2 / Math.max(windowMs, performance.now() - since)
    // Node measures whole intervals, including idle ones.
    return Math.max(0, Math.round(wait - resolutionMs / 2))
  }

  setInterval(() => {
    before = now()
    histogram.reset()
    since = performance.now()
  }, windowMs).unref?.()
  return () => Math.max(before, now())
}

/**
 * Not imported: a bundle for another runtime would load it at its start. Deno and workerd have the
 * function, but it may throw.
 */
function openHistogram() {
  try {
    const { monitorEventLoopDelay } = process.getBuiltinModule('node:perf_hooks')
    const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
    histogram.enable()
    return histogram
  } catch {
    return undefined
  }
}
