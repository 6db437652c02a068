import type { MillraceError } from './errors.ts'
import type { RunEvent, ToolCallEvent } from './events.ts'
import type { CallObserver, ModelCall } from './exchange.ts'

// The interface for observing runs and apps. It is independent of any backend: `@millrace/otel`
// exports OpenTelemetry, `logs()` writes log lines. Exceptions thrown by telemetry are swallowed
// and never affect a run.

/** A run that is about to start. */
export interface RunInfo {
  readonly runId: string
  readonly agent: string
  /** The id of its thread, or the caller's own conversation id. */
  readonly conversation?: string | undefined
  /**
   * Whether it belongs to a thread: then it is started by the log, not by the code on the current
   * stack.
   */
  readonly inThread: boolean
  /** The trace contexts of the inputs it answers, as far as known. */
  readonly parentTraces: readonly string[]
  readonly resumes?: ResumedRun | undefined
}

/** A run that another one continues. */
interface ResumedRun {
  readonly runId: string
  /** Its trace context, if it was traced. */
  readonly trace?: string | undefined
  /** Its tool calls that have no result yet. */
  readonly calls: readonly ToolCallEvent[]
}

/** Observes one run. */
export interface RunTelemetry {
  /**
   * The trace context of the run, a W3C `traceparent`. Stored in the log, for a process that
   * resumes the run.
   */
  readonly trace?: string | undefined
  /** Called synchronously for each event. Deltas are not joined. */
  event(event: RunEvent): void
  /** Called before each model call. */
  modelCall(call: ModelCall): CallObserver
  /**
   * Runs `work` in the trace context of the run or, with an id, of one of its tool calls. Calls it
   * once, immediately, and returns its result.
   */
  runInContext<Value>(callId: string | undefined, work: () => Value): Value
  /** The telemetry for runs that one of its tool calls starts. */
  nested(callId: string): Telemetry
  /** Another process continues the run, and nothing more is reported here. */
  handedOver(): void
}

/** Current values of an app, read on demand. */
export interface AppGauges {
  /** The number of followers of threads. */
  followers(): number
  /** How many entries the slowest follower is behind. */
  lag(): number
  /** The number of threads with a running worker. */
  running(): number
  /** The number of runnable threads that wait for a free slot. */
  waiting(): number
  /**
   * For how many milliseconds the thread that has waited longest could have run: too long means that
   * no process takes it.
   */
  oldest?(): number
  /** The bytes buffered for clients: request bodies, responses, entries that wait for followers. */
  buffered(): number
}

/** One commit of events to the store. */
export interface Flush {
  readonly events: number
  readonly threads: number
  readonly ms: number
  readonly failed: boolean
}

/** Observes one app. */
export interface AppTelemetry {
  flushed(flush: Flush): void
  /** Something failed in the background. */
  failed(error: MillraceError): void
  /** A request was rejected by a quota or a limit of the server. */
  rejected?(limit: string): void
  closed(): void
}

/** Observes the agents and apps it is passed to. */
export interface Telemetry {
  startRun(run: RunInfo): RunTelemetry
  /** The trace context that is active now, a W3C `traceparent`; undefined if there is none. */
  activeTrace?(): string | undefined
  /** Called when an app is opened. */
  openApp?(gauges: AppGauges): AppTelemetry
}

/**
 * Whether `text` is a `traceparent` as defined by W3C Trace Context: version, trace, span and
 * flags.
 */
export function isTraceContext(text: string): boolean {
  return /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text)
}
