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

// Whoever looks on never gets in the way: what it throws is dropped, and what it was to do around a piece of work is left out.

/** All of them as one that never throws; undefined if there is none. */
export function onlookers(given: Telemetry | readonly Telemetry[] | undefined): Telemetry | undefined {
  const all: readonly Telemetry[] = given === undefined ? [] : [given].flat()
  return all.length > 0 ? together(all) : undefined
}

export function telemetryProblem(value: unknown): Problem {
  const all: readonly unknown[] = [value].flat()
  const wrong = all.filter((one) => !(isObject(one) && typeof one.begin === 'function'))
  return wrong.length > 0 && `must be what otel() or logs() gives, or a list of that, not ${kindOf(wrong[0])}`
}

/** A model call as all of them see it; undefined if nobody does. */
export function observed(
  observers: readonly (ObserveCall | undefined)[],
  call: ModelCall,
): CallObserver | undefined {
  const all = begunBy(observers, (observe) => observe?.(call))
  if (all.length === 0) return undefined
  const wires = begunBy(all, ({ wire }) => wire)
  const receivers = all.filter(({ received }) => received)
  const headers: Record<string, string> = Object.assign({}, ...begunBy(all, (one) => one.headers))
  return {
    ...(wires.length > 0 && {
      wire: {
        sent: (request) => each(wires, (one) => one.sent(request)),
        answered: (answer) => each(wires, (one) => one.answered(answer)),
        received: (text) => each(wires, (one) => one.received(text)),
      },
    }),
    ...(receivers.length > 0 && { received: () => each(receivers, (one) => one.received?.()) }),
    ...(Object.keys(headers).length > 0 && { headers }),
    within: (work) => nested(all, work, (one, inner) => (one.within ? one.within(inner) : inner())),
    end: (end) => each(all, (one) => one.end(end)),
  }
}

function together(all: readonly Telemetry[]): Telemetry {
  return {
    begin: (run) => runTogether(begunBy(all, (one) => one.begin(run))),
    active: () => firstTrace(all, (one) => one.active?.()),
    open: (gauges) => appTogether(begunBy(all, (one) => one.open?.(gauges))),
  }
}

function runTogether(all: readonly RunTelemetry[]): RunTelemetry {
  const observers = all.map(
    (one): ObserveCall =>
      (call) =>
        one.call(call),
  )
  return {
    trace: firstTrace(all, (one) => one.trace),
    event(event) {
      // Once for each word: nothing is made for it.
      for (const one of all)
        try {
          const told: unknown = one.event(event)
          if (told !== undefined) dropRejection(told)
        } catch {}
    },
    call: (call) => observed(observers, call) ?? { end() {} },
    within: (callId, work) => nested(all, work, (one, inner) => one.within(callId, inner)),
    inside: (callId) => together(begunBy(all, (one) => one.inside(callId))),
    abandoned: () => each(all, (one) => one.abandoned()),
  }
}

function appTogether(all: readonly AppTelemetry[]): AppTelemetry {
  return {
    flushed: (flush) => each(all, (one) => one.flushed(flush)),
    failed: (error) => each(all, (one) => one.failed(error)),
    refused: (limit) => each(all, (one) => one.refused?.(limit)),
    closed: () => each(all, (one) => one.closed()),
  }
}

/** The work inside what the first does around it, and so on: done once and coming out as it does, whatever is done around it. */
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
    dropRejection(around(one, inner))
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

function each<One>(all: readonly One[], tell: (one: One) => void): void {
  for (const one of all) quietly(() => tell(one))
}

function begunBy<One, Begun>(all: readonly One[], begin: (one: One) => Begun | undefined): Begun[] {
  return all.flatMap((one) => quietly(() => begin(one)) ?? [])
}

/** It is to stand in the log: what is no trace context, such as what an async function gives, counts for none. */
function firstTrace<One>(all: readonly One[], read: (one: One) => string | undefined): string | undefined {
  for (const one of all) {
    const trace: unknown = quietly(() => read(one))
    if (typeof trace === 'string' && isTraceContext(trace)) return trace
  }
  return undefined
}

/** One that is async must not end the process either. */
function dropRejection(told: unknown) {
  if (told instanceof Promise) told.catch(() => {})
}

function quietly<Value>(work: () => Value): Value | undefined {
  try {
    const value = work()
    dropRejection(value)
    return value
  } catch {
    return undefined
  }
}
