import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  AppGauges,
  CallEnd,
  CallObserver,
  Flush,
  MillraceError,
  ModelCall,
  RunEvent,
  RunInfo,
  Telemetry,
} from '../protocol/index.ts'

/**
 * The trace that a piece of work runs in, as the telemetry set it: `agent` for a run,
 * `agent/call_1` for a tool call, `agent 2.1` for the first attempt at the second round.
 */
export const tracePath = new AsyncLocalStorage<string>()

export interface RecordedRun extends RunInfo {
  readonly trace: string
  /** The tool call that started it, and the trace in which it started. */
  readonly parentCall: string | undefined
  readonly startedIn: string | undefined
  readonly events: RunEvent[]
  readonly calls: RecordedCall[]
  /** All method calls, in order. */
  readonly records: string[]
}

interface RecordedCall extends ModelCall {
  reads: number
  end?: CallEnd
}

interface RecordedApp {
  readonly gauges: AppGauges
  /** The values when the app was opened. */
  readonly gaugesAtOpen: readonly number[]
  readonly flushes: Flush[]
  readonly errors: MillraceError[]
  closed: number
}

/** A W3C traceparent made from a number. */
export function traceparent(number: number): string {
  const hex = number.toString(16)
  return `00-${hex.padStart(32, '0')}-${hex.padStart(16, '0')}-01`
}

/**
 * Records every method call. `firstTrace` is the number of its first trace; `activeTrace` returns
 * the caller's trace.
 */
export function recordingTelemetry({
  firstTrace = 1,
  activeTrace,
}: {
  firstTrace?: number
  activeTrace?: () => string | undefined
} = {}) {
  const runs: RecordedRun[] = []
  const apps: RecordedApp[] = []

  function observe(run: RecordedRun, call: ModelCall): CallObserver {
    const recorded: RecordedCall = { ...call, reads: 0 }
    const name = `${call.aside ? 'aside ' : ''}${call.round}.${call.attempt}`
    run.calls.push(recorded)
    run.records.push(`call ${name}`)
    return {
      runInContext: (work) => tracePath.run(`${run.agent} ${name}`, work),
      received() {
        recorded.reads++
      },
      end(end) {
        recorded.end = end
        run.records.push(`end ${name}: ${end.error?.code ?? end.done?.finish}`)
      },
    }
  }

  function telemetry(parentCall?: string): Telemetry {
    return {
      startRun(info) {
        const trace = traceparent(firstTrace + runs.length)
        const startedIn = tracePath.getStore()
        const run: RecordedRun = {
          ...info,
          trace,
          parentCall,
          startedIn,
          events: [],
          calls: [],
          records: [],
        }
        const { agent, records } = run
        runs.push(run)
        return {
          trace,
          event(event) {
            run.events.push(event)
            records.push(event.type)
          },
          modelCall: (call) => observe(run, call),
          runInContext: (callId, work) =>
            tracePath.run(callId === undefined ? agent : `${agent}/${callId}`, work),
          nested: (callId) => telemetry(`${agent}/${callId}`),
          handedOver: () => void records.push('abandoned'),
        }
      },
      ...(activeTrace && { activeTrace }),
      openApp(gauges) {
        const gaugesAtOpen = [gauges.followers(), gauges.lag(), gauges.running(), gauges.waiting()]
        const app: RecordedApp = { gauges, gaugesAtOpen, flushes: [], errors: [], closed: 0 }
        apps.push(app)
        return {
          flushed: (flush) => void app.flushes.push(flush),
          failed: (error) => void app.errors.push(error),
          closed: () => void app.closed++,
        }
      },
    }
  }

  return { runs, apps, telemetry: telemetry() }
}
