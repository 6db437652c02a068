import type { AppGauges, AppTelemetry } from 'millrace/internal'
import type { Kit } from './kit.ts'

/** Measures an app while it is open. */
export function measureApp({ instruments }: Kit, gauges: AppGauges): AppTelemetry {
  instruments().apps.add(gauges)
  return {
    flushed({ events, ms, failed }) {
      const { flushSize, flushSeconds } = instruments()
      if (events > 0 && !failed) flushSize.record(events)
      flushSeconds.record(ms / 1000, failed ? { 'error.type': 'store_error' } : {})
    },
    failed: ({ code }) => instruments().errors.add(1, { 'error.type': code }),
    rejected: (limit) => instruments().rejections.add(1, { 'millrace.limit': limit }),
    closed: () => void instruments().apps.delete(gauges),
  }
}
