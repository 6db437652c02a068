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

/** A metric, without values that depend on the speed of the machine. */
export interface Metric {
  readonly name: string
  readonly unit: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly points: readonly Point[]
}

/** For a histogram, its count and sum. */
export interface Point {
  readonly attributes: Attributes
  readonly value: number | { readonly count: number; readonly sum: number }
}

/**
 * The OpenTelemetry SDK with in-memory exporters, and an `otel()` that uses it. Shut down after the
 * test.
 */
export interface Measured {
  readonly telemetry: Telemetry
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  /** The ended spans, in the order in which they started. */
  spans(): ReadableSpan[]
  /**
   * Each start and end of a span, in order: `+ chat gpt`, `- chat gpt`. Timestamps are too coarse
   * for that.
   */
  readonly spanLog: readonly string[]
  metrics(): Promise<Metric[]>
  points(name: string): Promise<readonly Point[]>
}

export function measured(
  options: Omit<OtelOptions, 'tracerProvider' | 'meterProvider'> & { readonly sampler?: Sampler } = {},
): Measured {
  const { sampler, ...own } = options
  const exporter = new InMemorySpanExporter()
  const started: string[] = []
  const spanLog: string[] = []
  const recorder: SpanProcessor = {
    onStart(span) {
      started.push(span.spanContext().spanId)
      spanLog.push(`+ ${span.name}`)
    },
    onEnd: ({ name }) => void spanLog.push(`- ${name}`),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const tracerProvider = new TracerProvider({
    spanProcessors: [recorder, new SimpleSpanProcessor({ exporter })],
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
  const position = (span: ReadableSpan) => started.indexOf(span.spanContext().spanId)

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
    spans: () => exporter.getFinishedSpans().toSorted((one, other) => position(one) - position(other)),
    spanLog,
    metrics,
    points: async (name) => (await metrics()).find((metric) => metric.name === name)?.points ?? [],
  }
}

/**
 * Registers a context manager for the duration of the test file, so that spans find the active one.
 */
export function useContextManager() {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterAll(() => context.disable())
}

/**
 * Spans as indented lines, each below its parent. A span whose parent is not among them is not
 * indented.
 */
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

/** The spans with this name. */
export function named(spans: readonly ReadableSpan[], name: string): ReadableSpan[] {
  return spans.filter((span) => span.name === name)
}

/** The only span with this name. */
export function only(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const [first, ...others] = named(spans, name)
  if (!first || others.length > 0)
    throw new Error(`expected one span '${name}', found ${first ? others.length + 1 : 0}`)
  return first
}

/** The names of the spans that a span links to, or their ids if they are not in `among`. */
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
