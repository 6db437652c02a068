// An OTLP export in its JSON form as plain objects. The sender is the official SDK, so anything
// invalid fails the test.

type Attributes = Readonly<Record<string, unknown>>

export interface ReceivedSpan {
  readonly name: string
  readonly kind: (typeof kinds)[number]
  readonly traceId: string
  readonly spanId: string
  /** Undefined for a root span. */
  readonly parentSpanId: string | undefined
  readonly startMs: number
  readonly endMs: number
  readonly status: (typeof statuses)[number]
  readonly statusMessage: string | undefined
  readonly attributes: Attributes
  readonly events: readonly {
    readonly name: string
    readonly atMs: number
    readonly attributes: Attributes
  }[]
  readonly links: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly attributes: Attributes
  }[]
  readonly scope: string
  readonly resource: Attributes
}

/** The latest point of one series: a metric with these attributes of one process. */
export interface ReceivedPoint {
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly type: 'sum' | 'gauge' | 'histogram'
  /** Only for a sum. */
  readonly monotonic: boolean
  readonly attributes: Attributes
  /** For a histogram, the sum of all recorded values. */
  readonly value: number
  /** For a histogram, the number of recorded values. */
  readonly count: number
  readonly min: number | undefined
  readonly max: number | undefined
  readonly bounds: readonly number[]
  readonly buckets: readonly number[]
  readonly scope: string
  readonly resource: Attributes
}

const kinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const
const statuses = ['UNSET', 'OK', 'ERROR'] as const

type Long = string | number
interface WireValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: Long
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values?: readonly WireValue[] }
  readonly kvlistValue?: { readonly values?: WireAttributes }
  readonly bytesValue?: string
}
type WireAttributes = readonly { readonly key: string; readonly value?: WireValue }[]
interface WireSpan {
  readonly name: string
  readonly kind?: Long
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: Long
  readonly endTimeUnixNano: Long
  readonly attributes?: WireAttributes
  readonly events?: readonly { name: string; timeUnixNano: Long; attributes?: WireAttributes }[]
  readonly links?: readonly { traceId: string; spanId: string; attributes?: WireAttributes }[]
  readonly status?: { readonly code?: Long; readonly message?: string }
}
interface WirePoint {
  readonly attributes?: WireAttributes
  readonly asInt?: Long
  readonly asDouble?: number
  readonly count?: Long
  readonly sum?: number
  readonly min?: number
  readonly max?: number
  readonly bucketCounts?: readonly Long[]
  readonly explicitBounds?: readonly number[]
}
interface WireData {
  readonly dataPoints?: readonly WirePoint[]
  readonly isMonotonic?: boolean
}
interface WireMetric {
  readonly name: string
  readonly unit?: string
  readonly description?: string
  readonly sum?: WireData
  readonly gauge?: WireData
  readonly histogram?: WireData
}
interface WireOrigin {
  readonly resource?: { readonly attributes?: WireAttributes }
}
interface WireScope {
  readonly scope?: { readonly name?: string }
}
export interface WireTraces {
  readonly resourceSpans?: readonly (WireOrigin & {
    readonly scopeSpans?: readonly (WireScope & { readonly spans?: readonly WireSpan[] })[]
  })[]
}
export interface WireMetrics {
  readonly resourceMetrics?: readonly (WireOrigin & {
    readonly scopeMetrics?: readonly (WireScope & { readonly metrics?: readonly WireMetric[] })[]
  })[]
}

export function readSpans({ resourceSpans = [] }: WireTraces): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => ({
        name: span.name,
        kind: kinds[Number(span.kind ?? 0)] ?? 'UNSPECIFIED',
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        startMs: msOf(span.startTimeUnixNano),
        endMs: msOf(span.endTimeUnixNano),
        status: statuses[Number(span.status?.code ?? 0)] ?? 'UNSET',
        statusMessage: span.status?.message || undefined,
        attributes: attributesOf(span.attributes),
        events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
          name,
          atMs: msOf(timeUnixNano),
          attributes: attributesOf(attributes),
        })),
        links: (span.links ?? []).map(({ traceId, spanId, attributes }) => ({
          traceId,
          spanId,
          attributes: attributesOf(attributes),
        })),
        scope: scope?.name ?? '',
        resource: attributesOf(resource?.attributes),
      })),
    ),
  )
}

export function readPoints({ resourceMetrics = [] }: WireMetrics): ReceivedPoint[] {
  return resourceMetrics.flatMap(({ resource, scopeMetrics = [] }) =>
    scopeMetrics.flatMap(({ scope, metrics = [] }) =>
      metrics.flatMap((metric) =>
        (['sum', 'gauge', 'histogram'] as const).flatMap((type) =>
          (metric[type]?.dataPoints ?? []).map((point) => ({
            name: metric.name,
            unit: metric.unit ?? '',
            description: metric.description ?? '',
            type,
            monotonic: metric[type]?.isMonotonic ?? false,
            attributes: attributesOf(point.attributes),
            value: Number(point.asInt ?? point.asDouble ?? point.sum ?? 0),
            count: Number(point.count ?? 0),
            min: point.min,
            max: point.max,
            bounds: point.explicitBounds ?? [],
            buckets: (point.bucketCounts ?? []).map(Number),
            scope: scope?.name ?? '',
            resource: attributesOf(resource?.attributes),
          })),
        ),
      ),
    ),
  )
}

function attributesOf(wire: WireAttributes = []): Attributes {
  return Object.fromEntries(wire.map(({ key, value }) => [key, plain(value)]))
}

function plain(value: WireValue = {}): unknown {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(plain)
  if (value.kvlistValue) return attributesOf(value.kvlistValue.values)
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.bytesValue
}

/** Accurate to about a quarter of a microsecond, the precision of a number for Unix time. */
function msOf(nanos: Long): number {
  return Number(BigInt(nanos) / 1000n) / 1000
}
