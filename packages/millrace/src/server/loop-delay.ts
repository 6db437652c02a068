import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Finer costs more: at 20 ms a process at rest takes 0.15 % of a CPU. */
const resolutionMs = 20
const windowMs = 5000

let delay: (() => number) | undefined

/**
 * How long a new request waits for the event loop, on average over the last five to ten seconds. Measured from the first call on.
 * Unlike a percentile it does not jump at a single pause of the garbage collector, and not when long pauses leave few samples.
 */
export function loopDelayMs(): number {
  delay ??= watch()
  return delay()
}

function watch(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  let since = performance.now()
  let before = 0

  /** A request that comes during an interval of d waits for d/2, and comes then with the chance d/window: the sum of d²/2 by the window. */
  function now(): number {
    const { count } = histogram
    if (count === 0) return 0
    const [mean, deviation] = [histogram.mean / 1e6, histogram.stddev / 1e6]
    const squares = count * (mean ** 2 + deviation ** 2)
    const wait = squares / 2 / Math.max(windowMs, performance.now() - since)
    // Node measures whole intervals, also those at rest.
    return Math.max(0, Math.round(wait - resolutionMs / 2))
  }

  setInterval(() => {
    before = now()
    histogram.reset()
    since = performance.now()
  }, windowMs).unref()
  return () => Math.max(before, now())
}
