import type { AppGauges, AppTelemetry } from 'millrace/internal'
import type { Kit } from './kit.ts'

/** Measures an app as long as it is open. */
export function beginApp({ instruments }: Kit, gauges: AppGauges): AppTelemetry {
  instruments().apps.add(gauges)
  return {
    flushed({ events, ms, failed }) {
      const { flushSize, flushSeconds } = instruments()
      if (events > 0 && !failed) flushSize.record(events)
      flushSeconds.record(ms / 1000, failed ? { 'error.type': 'store_error' } : {})
    },
    failed: ({ code }) => instruments().errors.add(1, { 'error.type': code }),
    refused: (limit) => instruments().refusals.add(1, { 'millrace.limit': limit }),
    closed: () => void instruments().apps.delete(gauges),
  }
}
