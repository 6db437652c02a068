import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  AppGauges,
  CallEnd,
  CallObserver,
  Flush,
  MillraceError,
  ModelCall,
  RunBeginning,
  RunEvent,
  Telemetry,
} from '../protocol/index.ts'

/**
 * Where a piece of work is done, as an onlooker has put it: `agent` for what belongs to a run of it, `agent/call_1` for a call,
 * `agent 2.1` for the first try to tell its second round.
 */
export const place = new AsyncLocalStorage<string>()

export interface WatchedRun extends RunBeginning {
  readonly trace: string
  /** The call that has started it, and where it was when it began. */
  readonly inside: string | undefined
  readonly begunAt: string | undefined
  readonly events: RunEvent[]
  readonly calls: WatchedCall[]
  /** All it was told, in order. */
  readonly told: string[]
}

interface WatchedCall extends ModelCall {
  reads: number
  end?: CallEnd
}

interface WatchedApp {
  readonly gauges: AppGauges
  /** What they said when it was opened. */
  readonly atFirst: readonly number[]
  readonly flushes: Flush[]
  readonly errors: MillraceError[]
  closed: number
}

/** A W3C traceparent that is told from others by a number. */
export function traceparent(number: number): string {
  const hex = number.toString(16)
  return `00-${hex.padStart(32, '0')}-${hex.padStart(16, '0')}-01`
}

/** Writes down all that it is told. `first` is the number of its first trace; `active` gives that of whoever is calling. */
export function lookout({ first = 1, active }: { first?: number; active?: () => string | undefined } = {}) {
  const runs: WatchedRun[] = []
  const apps: WatchedApp[] = []

  function observe(run: WatchedRun, call: ModelCall): CallObserver {
    const watched: WatchedCall = { ...call, reads: 0 }
    const name = `${call.aside ? 'aside ' : ''}${call.round}.${call.attempt}`
    run.calls.push(watched)
    run.told.push(`call ${name}`)
    return {
      within: (work) => place.run(`${run.agent} ${name}`, work),
      received() {
        watched.reads++
      },
      end(end) {
        watched.end = end
        run.told.push(`end ${name}: ${end.error?.code ?? end.done?.finish}`)
      },
    }
  }

  function telemetry(inside?: string): Telemetry {
    return {
      begin(beginning) {
        const trace = traceparent(first + runs.length)
        const begunAt = place.getStore()
        const run: WatchedRun = { ...beginning, trace, inside, begunAt, events: [], calls: [], told: [] }
        const { agent, told } = run
        runs.push(run)
        return {
          trace,
          event(event) {
            run.events.push(event)
            told.push(event.type)
          },
          call: (call) => observe(run, call),
          within: (callId, work) => place.run(callId === undefined ? agent : `${agent}/${callId}`, work),
          inside: (callId) => telemetry(`${agent}/${callId}`),
          abandoned: () => void told.push('abandoned'),
        }
      },
      ...(active && { active }),
      open(gauges) {
        const atFirst = [gauges.followers(), gauges.lag(), gauges.running(), gauges.waiting()]
        const app: WatchedApp = { gauges, atFirst, flushes: [], errors: [], closed: 0 }
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
