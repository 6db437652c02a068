import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { isSpanContextValid, trace } from '@opentelemetry/api'
import type { Telemetry } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { aFunction, checkOptions, invalidInput, isObject, kindOf, oneOf, yesOrNo } from 'millrace/internal'
import { beginApp } from './app.ts'
import type { Redact } from './content.ts'
import { contentWriter } from './content.ts'
import type { Conventions } from './instruments.ts'
import { instrumentsOf, scope } from './instruments.ts'
import type { Kit } from './kit.ts'
import { modelNames } from './model-names.ts'
import { beginRun } from './run.ts'
import { writeTrace } from './trace-context.ts'

export interface OtelOptions {
  /** Those that are registered with `@opentelemetry/api` if absent. */
  readonly tracerProvider?: TracerProvider | undefined
  readonly meterProvider?: MeterProvider | undefined
  /** Puts what was said on the spans: messages, the input and output of tools, the words of errors. Not so if absent. */
  readonly content?: boolean | undefined
  /** Asked about each piece of content before it is put on a span. What it gives is put there instead; nothing, if that is undefined. */
  readonly redact?: Redact | undefined
  /** Sends trace headers to the providers of models. Not so if absent. */
  readonly headers?: boolean | undefined
  /** Which names the metrics of model calls go by: those of today if absent, those that many backends still read, or both. */
  readonly conventions?: Conventions | undefined
}

const table: OptionTable<OtelOptions> = {
  tracerProvider: hasMethod('getTracer', 'a TracerProvider'),
  meterProvider: hasMethod('getMeter', 'a MeterProvider'),
  content: yesOrNo,
  redact: aFunction,
  headers: yesOrNo,
  conventions: oneOf('current', 'older', 'both'),
}

/**
 * Makes OpenTelemetry of runs, by the semantic conventions for generative AI: hand it to `agent({ telemetry })` or
 * `millrace({ telemetry })`. It may be handed to several. Throws `invalid_input` on bad options.
 */
export function otel(options: OtelOptions = {}): Telemetry {
  const op = 'otel'
  if (!isObject(options as unknown))
    throw invalidInput(op, `otel() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'the option' })
  const {
    tracerProvider,
    meterProvider,
    content = false,
    redact,
    headers = false,
    conventions = 'current',
  } = options
  if (redact && !content)
    throw invalidInput(op, "the option 'redact' is asked about content: set content: true as well")
  const tracer = (tracerProvider ?? trace).getTracer(scope)
  const kit: Kit = {
    tracer,
    instruments: instrumentsOf(meterProvider, conventions),
    content: content ? contentWriter(redact) : undefined,
    headers,
    names: modelNames(conventions),
  }
  return {
    begin: (run) => beginRun(kit, run),
    active() {
      const active = trace.getActiveSpan()?.spanContext()
      return active && isSpanContextValid(active) ? writeTrace(active) : undefined
    },
    open: (gauges) => beginApp(kit, gauges),
  }
}

function hasMethod(method: string, what: string) {
  return (value: unknown) =>
    !(isObject(value) && typeof value[method] === 'function') && `must be ${what}, with ${method}()`
}
