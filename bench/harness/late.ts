import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Delays } from './measure.ts'

/** Returns how late the timers of this process were since the last call. */
export function lateness(resolutionMs: number): () => Delays {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  return () => {
    const late = (nanos: number) => Math.max(0, nanos / 1e6 - resolutionMs)
    const { max } = delays
    const [p50, p99] = [delays.percentile(50), delays.percentile(99)]
    delays.reset()
    return { p50: late(p50), p99: late(p99), max: late(max) }
  }
}
