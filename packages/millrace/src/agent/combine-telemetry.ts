import type {
  AppTelemetry,
  CallObserver,
  ModelCall,
  ObserveCall,
  Problem,
  RunTelemetry,
  Telemetry,
} from '../protocol/index.ts'
import { isObject, isTraceContext, kindOf } from '../protocol/index.ts'

// Telemetry never affects a run: its exceptions are swallowed, and if a wrapper fails, the work
// runs without it.

/** Combines telemetry into one that never throws; undefined if there is none. */
export function combineTelemetry(
  telemetry: Telemetry | readonly Telemetry[] | undefined,
): Telemetry | undefined {
  const all: readonly Telemetry[] = telemetry === undefined ? [] : [telemetry].flat()
  return all.length > 0 ? combineAll(all) : undefined
}

export function telemetryProblem(value: unknown): Problem {
  const all: readonly unknown[] = [value].flat()
  const invalid = all.filter((one) => !(isObject(one) && typeof one.startRun === 'function'))
  return (
    invalid.length > 0 &&
    `must be the result of otel() or logs(), or a list of those, not ${kindOf(invalid[0])}`
  )
}

/** Starts observing a model call with all observers; undefined if there are none. */
export function observeModelCall(
  observers: readonly (ObserveCall | undefined)[],
  call: ModelCall,
): CallObserver | undefined {
  const all = collectFrom(observers, (observe) => observe?.(call))
  if (all.length === 0) return undefined
  const wires = collectFrom(all, ({ wire }) => wire)
  const receivers = all.filter(({ received }) => received)
  const headers: Record<string, string> = Object.assign({}, ...collectFrom(all, (one) => one.headers))
  return {
    ...(wires.length > 0 && {
      wire: {
        sent: (request) => notifyAll(wires, (one) => one.sent(request)),
        responded: (answer) => notifyAll(wires, (one) => one.responded(answer)),
        received: (text) => notifyAll(wires, (one) => one.received(text)),
      },
    }),
    ...(receivers.length > 0 && { received: () => notifyAll(receivers, (one) => one.received?.()) }),
    ...(Object.keys(headers).length > 0 && { headers }),
    runInContext: (work) =>
      nested(all, work, (one, inner) => (one.runInContext ? one.runInContext(inner) : inner())),
    end: (end) => notifyAll(all, (one) => one.end(end)),
  }
}

function combineAll(all: readonly Telemetry[]): Telemetry {
  return {
    startRun: (run) => combineRuns(collectFrom(all, (one) => one.startRun(run))),
    activeTrace: () => firstTrace(all, (one) => one.activeTrace?.()),
    openApp: (gauges) => combineApps(collectFrom(all, (one) => one.openApp?.(gauges))),
  }
}

function combineRuns(all: readonly RunTelemetry[]): RunTelemetry {
  const observers = all.map(
    (one): ObserveCall =>
      (call) =>
        one.modelCall(call),
  )
  return {
    trace: firstTrace(all, (one) => one.trace),
    event(event) {
      // Called for every delta, so it allocates nothing.
      for (const one of all)
        try {
          const returned: unknown = one.event(event)
          if (returned !== undefined) swallowRejection(returned)
        } catch {}
    },
    modelCall: (call) => observeModelCall(observers, call) ?? { end() {} },
    runInContext: (callId, work) => nested(all, work, (one, inner) => one.runInContext(callId, inner)),
    nested: (callId) => combineAll(collectFrom(all, (one) => one.nested(callId))),
    handedOver: () => notifyAll(all, (one) => one.handedOver()),
  }
}

function combineApps(all: readonly AppTelemetry[]): AppTelemetry {
  return {
    flushed: (flush) => notifyAll(all, (one) => one.flushed(flush)),
    failed: (error) => notifyAll(all, (one) => one.failed(error)),
    rejected: (limit) => notifyAll(all, (one) => one.rejected?.(limit)),
    closed: () => notifyAll(all, (one) => one.closed()),
  }
}

/**
 * Runs `work` inside the wrappers, the first outermost. It runs exactly once, and its outcome is
 * returned whatever the wrappers do.
 */
function nested<One, Value>(
  all: readonly One[],
  work: () => Value,
  around: (one: One, inner: () => Value) => Value,
  at = 0,
): Value {
  const one = all[at]
  if (one === undefined) return work()
  let outcome: { readonly value: Value } | { readonly thrown: unknown } | undefined
  const inner = (): Value => {
    outcome ??= outcomeOf(all, work, around, at + 1)
    if ('thrown' in outcome) throw outcome.thrown
    return outcome.value
  }
  try {
    swallowRejection(around(one, inner))
  } catch {}
  return inner()
}

function outcomeOf<One, Value>(...rest: Parameters<typeof nested<One, Value>>) {
  try {
    return { value: nested(...rest) }
  } catch (thrown) {
    return { thrown }
  }
}

function notifyAll<One>(all: readonly One[], notify: (one: One) => void): void {
  for (const one of all) swallowErrors(() => notify(one))
}

function collectFrom<One, Value>(all: readonly One[], read: (one: One) => Value | undefined): Value[] {
  return all.flatMap((one) => swallowErrors(() => read(one)) ?? [])
}

/**
 * The trace goes into the log, so anything but a valid trace context, such as a promise, is
 * ignored.
 */
function firstTrace<One>(all: readonly One[], read: (one: One) => string | undefined): string | undefined {
  for (const one of all) {
    const trace: unknown = swallowErrors(() => read(one))
    if (typeof trace === 'string' && isTraceContext(trace)) return trace
  }
  return undefined
}

/** A rejection of an async method must not end the process. */
function swallowRejection(returned: unknown) {
  if (returned instanceof Promise) returned.catch(() => {})
}

function swallowErrors<Value>(work: () => Value): Value | undefined {
  try {
    const value = work()
    swallowRejection(value)
    return value
  } catch {
    return undefined
  }
}
