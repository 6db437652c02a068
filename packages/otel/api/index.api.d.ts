import { MeterProvider, TracerProvider } from '@opentelemetry/api'

import { JsonValue, Telemetry } from 'millrace'

interface ContentLocation {
  readonly attribute: string
  readonly agent: string
  readonly tool?: string | undefined
}

type Conventions = 'current' | 'older' | 'both'

interface OtelOptions {
  readonly tracerProvider?: TracerProvider | undefined
  readonly meterProvider?: MeterProvider | undefined
  readonly content?: boolean | undefined
  readonly redact?: Redact | undefined
  readonly headers?: boolean | undefined
  readonly conventions?: Conventions | undefined
}

type Redact = (value: JsonValue, place: ContentLocation) => JsonValue | undefined

declare function otel(options?: OtelOptions): Telemetry

export { type ContentLocation, type Conventions, type OtelOptions, type Redact, otel }
