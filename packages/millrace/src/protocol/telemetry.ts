import type { MillraceError } from './errors.ts'
import type { RunEvent, ToolCallEvent } from './events.ts'
import type { CallObserver, ModelCall } from './exchange.ts'

// What looks on at runs, to measure and to tell of them where people already look. Nothing here knows of a backend:
// `@millrace/otel` makes OpenTelemetry of it, `logs()` makes lines. Whatever an onlooker throws is dropped.

/** A run that is about to begin. */
export interface RunBeginning {
  readonly runId: string
  readonly agent: string
  /** The thread it belongs to, or what the caller calls the conversation. */
  readonly conversation?: string | undefined
  /** Set going by the log of a thread, not by whoever happens to be calling. */
  readonly inThread: boolean
  /** The trace contexts of those whose words it answers, as far as they are known. */
  readonly causes: readonly string[]
  readonly resumes?: ResumedRun | undefined
}

/** A run that another goes on with. */
interface ResumedRun {
  readonly runId: string
  /** If it was traced. */
  readonly trace?: string | undefined
  /** Those of its calls that are still to be dealt with. */
  readonly calls: readonly ToolCallEvent[]
}

/** Looks on at one run. */
export interface RunTelemetry {
  /** The trace context of the run, a W3C `traceparent`. It stands in the log, for whoever goes on with it in another process. */
  readonly trace?: string | undefined
  /** Told of each event in the turn in which it happens, words as the model sent them. */
  event(event: RunEvent): void
  /** Told of each model call before it is made. */
  call(call: ModelCall): CallObserver
  /**
   * Does a piece of work that belongs to the run or, with an id, to one of its calls: what is measured inside becomes a part of that.
   * Calls `work` once, at once, and gives what it gives.
   */
  within<Value>(callId: string | undefined, work: () => Value): Value
  /** For the runs that one of its calls starts. */
  inside(callId: string): Telemetry
  /** It goes on elsewhere, and nothing more is told of it here. */
  abandoned(): void
}

/** How an app is doing, whenever somebody asks. */
export interface AppGauges {
  /** How many listeners follow threads. */
  followers(): number
  /** How many entries the one that is furthest behind has not been handed yet. */
  lag(): number
  /** How many threads are being worked on. */
  running(): number
  /** How many threads have something to do and wait until there is room for them. */
  waiting(): number
  /** How many bytes are held for clients: bodies, answers, entries that wait for followers. */
  buffered(): number
}

/** What was made durable at once. */
export interface Flush {
  readonly events: number
  readonly threads: number
  readonly ms: number
  readonly failed: boolean
}

/** Looks on at one app. */
export interface AppTelemetry {
  flushed(flush: Flush): void
  /** Something went wrong in the background. */
  failed(error: MillraceError): void
  /** A request was refused: by a quota, or a limit of the server. */
  refused?(limit: string): void
  closed(): void
}

/** Looks on at everything it is handed to: agents, apps. */
export interface Telemetry {
  begin(run: RunBeginning): RunTelemetry
  /** The trace context of whoever is calling right now, a W3C `traceparent`; undefined if there is none. */
  active?(): string | undefined
  /** An app has been opened. */
  open?(gauges: AppGauges): AppTelemetry
}

/** Whether it is a trace context: version, trace, span and flags, as W3C Trace Context writes them. */
export function isTraceContext(text: string): boolean {
  return /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text)
}
