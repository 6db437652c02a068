import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { isSpanContextValid, trace } from '@opentelemetry/api'
import type { Telemetry } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { aFunction, checkOptions, invalidInput, isObject, kindOf, oneOf, yesOrNo } from 'millrace/internal'
import { measureApp } from './app.ts'
import type { Redact } from './content.ts'
import { contentWriter } from './content.ts'
import { sharedAttributes } from './cost.ts'
import type { Conventions } from './instruments.ts'
import { instrumentsOf, scope } from './instruments.ts'
import type { Kit } from './kit.ts'
import { modelNames } from './model-names.ts'
import { traceRun } from './run.ts'
import { writeTrace } from './trace-context.ts'

export interface OtelOptions {
  /** Default: the providers registered with `@opentelemetry/api`. */
  readonly tracerProvider?: TracerProvider | undefined
  readonly meterProvider?: MeterProvider | undefined
  /**
   * Record content on spans: messages, inputs and outputs of tools, error messages. Default: false.
   */
  readonly content?: boolean | undefined
  /**
   * Called for each piece of content before it is recorded. Its result is recorded instead; nothing
   * if it returns undefined.
   */
  readonly redact?: Redact | undefined
  /** Send trace headers to model providers. Default: false. */
  readonly headers?: boolean | undefined
  /**
   * Which names to use for the metrics of model calls: `current` (default), `older`, which many
   * backends still expect, or `both`.
   */
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
 * Exports runs as OpenTelemetry spans and metrics, following the semantic conventions for
 * generative AI. Pass the result to `agent({ telemetry })` or `millrace({ telemetry })`; it can be
 * shared. Throws `invalid_input` on invalid options.
 */
export function otel(options: OtelOptions = {}): Telemetry {
  const op = 'otel'
  if (!isObject(options as unknown))
    throw invalidInput(op, `otel() expects an object of options, not ${kindOf(options)}`)
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
    throw invalidInput(op, "the option 'redact' only applies to content: set content: true as well")
  const tracer = (tracerProvider ?? trace).getTracer(scope)
  const kit: Kit = {
    tracer,
    instruments: instrumentsOf(meterProvider, conventions),
    content: content ? contentWriter(redact) : undefined,
    headers,
    names: modelNames(conventions),
    shared: sharedAttributes(),
  }
  return {
    startRun: (run) => traceRun(kit, run),
    activeTrace() {
      const active = trace.getActiveSpan()?.spanContext()
      return active && isSpanContextValid(active) ? writeTrace(active) : undefined
    },
    openApp: (gauges) => measureApp(kit, gauges),
  }
}

function hasMethod(method: string, what: string) {
  return (value: unknown) =>
    !(isObject(value) && typeof value[method] === 'function') && `must be ${what}, with ${method}()`
}
