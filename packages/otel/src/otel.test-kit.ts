import type { Attributes } from '@opentelemetry/api'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import type { MetricData } from '@opentelemetry/sdk-metrics'
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import type { ReadableSpan, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Telemetry } from 'millrace'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { OtelOptions } from './otel.ts'
import { otel } from './otel.ts'

/** What is known of a metric without knowing how fast the machine is. */
export interface Metric {
  readonly name: string
  readonly unit: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly points: readonly Point[]
}

/** Of a histogram, how often and how much in all. */
export interface Point {
  readonly attributes: Attributes
  readonly value: number | { readonly count: number; readonly sum: number }
}

/** OpenTelemetry's own SDK with its in-memory exporters, and an `otel()` that tells them. It is shut down after the test. */
export interface Measured {
  readonly telemetry: Telemetry
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  /** Those that are over, in the order in which they began. */
  spans(): ReadableSpan[]
  /** Each beginning and end of a span as it happened: `+ chat gpt`, `- chat gpt`. Times are too coarse to tell. */
  readonly course: readonly string[]
  metrics(): Promise<Metric[]>
  points(name: string): Promise<readonly Point[]>
}

export function measured(
  options: Omit<OtelOptions, 'tracerProvider' | 'meterProvider'> & { readonly sampler?: Sampler } = {},
): Measured {
  const { sampler, ...own } = options
  const exporter = new InMemorySpanExporter()
  const begun: string[] = []
  const course: string[] = []
  const watcher: SpanProcessor = {
    onStart(span) {
      begun.push(span.spanContext().spanId)
      course.push(`+ ${span.name}`)
    },
    onEnd: ({ name }) => void course.push(`- ${name}`),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const tracerProvider = new TracerProvider({
    spanProcessors: [watcher, new SimpleSpanProcessor({ exporter })],
    ...(sampler && { sampler }),
  })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  })
  const meterProvider = new MeterProvider({ readers: [reader] })
  onTestFinished(async () => {
    await tracerProvider.shutdown()
    await meterProvider.shutdown()
  })
  const place = (span: ReadableSpan) => begun.indexOf(span.spanContext().spanId)

  async function metrics() {
    metricExporter.reset()
    await reader.forceFlush()
    const all = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    return all.flatMap((scope) => scope.metrics.map(metricOf)).filter(({ points }) => points.length > 0)
  }

  return {
    telemetry: otel({ ...own, tracerProvider, meterProvider }),
    tracerProvider,
    meterProvider,
    spans: () => exporter.getFinishedSpans().toSorted((one, other) => place(one) - place(other)),
    course,
    metrics,
    points: async (name) => (await metrics()).find((metric) => metric.name === name)?.points ?? [],
  }
}

/** For a file whose spans are to find the one that is active: registers what OpenTelemetry keeps that with, as long as the file runs. */
export function keepContext() {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterAll(() => context.disable())
}

/** Spans as indented lines, each below its parent. One whose parent is not among them stands at the left. */
export function treeOf(
  spans: readonly ReadableSpan[],
  line: (span: ReadableSpan) => string = ({ name }) => name,
): string[] {
  const ids = new Set(spans.map(idOf))
  const below = (parent: string | undefined, depth: number): string[] =>
    spans
      .filter((span) => {
        const above = span.parentSpanContext?.spanId
        return parent === undefined ? above === undefined || !ids.has(above) : above === parent
      })
      .flatMap((span) => [`${'  '.repeat(depth)}${line(span)}`, ...below(idOf(span), depth + 1)])
  return below(undefined, 0)
}

export function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId
}

/** The spans of a name. */
export function named(spans: readonly ReadableSpan[], name: string): ReadableSpan[] {
  return spans.filter((span) => span.name === name)
}

/** The one span of a name. */
export function only(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const [first, ...others] = named(spans, name)
  if (!first || others.length > 0)
    throw new Error(`there are ${first ? others.length + 1 : 0} spans '${name}'`)
  return first
}

/** The names of the spans that a span links to; their ids, where they are not among these. */
export function linksOf(span: ReadableSpan, among: readonly ReadableSpan[]): string[] {
  return span.links.map((link) => {
    const { spanId, traceId } = link.context
    const found = among.find((one) => idOf(one) === spanId && one.spanContext().traceId === traceId)
    return found?.name ?? spanId
  })
}

function metricOf(metric: MetricData): Metric {
  const { name, unit } = metric.descriptor
  switch (metric.dataPointType) {
    case DataPointType.HISTOGRAM:
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return {
        name,
        unit,
        kind: 'histogram',
        points: (
          metric.dataPoints as { attributes: Attributes; value: { count: number; sum?: number } }[]
        ).map(({ attributes, value: { count, sum = 0 } }) => ({ attributes, value: { count, sum } })),
      }
    default:
      return {
        name,
        unit,
        kind: metric.dataPointType === DataPointType.SUM ? 'counter' : 'gauge',
        points: metric.dataPoints.map(({ attributes, value }) => ({ attributes, value })),
      }
  }
}
