import type { Conventions } from '@millrace/otel'
import { providerSimulator } from '@millrace/simulator'
import type { Meter, MeterProvider as MeterProviderApi } from '@opentelemetry/api'
import type { MetricData } from '@opentelemetry/sdk-metrics'
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { z } from 'zod'
import { agent } from '../packages/millrace/src/agent/index.ts'
import { anthropic } from '../packages/millrace/src/models/anthropic.ts'
import type { Telemetry } from '../packages/millrace/src/protocol/index.ts'
import { scriptedModel } from '../packages/millrace/src/testing/index.ts'
import type { ThreadStore } from '../packages/millrace/src/threads/index.ts'
import { memoryStore, millrace } from '../packages/millrace/src/threads/index.ts'
import { tool } from '../packages/millrace/src/tools/index.ts'
import { otel } from '../packages/otel/src/otel.ts'
import type { Metric } from './prometheus-names.ts'

/** A recorded metric, with all attributes that occurred. */
export interface Measured extends Metric {
  readonly attributes: ReadonlySet<string>
}

/**
 * Triggers everything that is measured, and returns the metrics. Fails if a metric was never
 * recorded.
 */
export async function measureEverything(conventions: Conventions): Promise<Measured[]> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 })
  const provider = new MeterProvider({ readers: [reader] })
  const made = new Set<string>()
  const telemetry = otel({ meterProvider: recording(provider, made), conventions })

  await ownRuns(telemetry)
  await paidRun(telemetry)
  // Observable metrics are collected while the app is open.
  await threads(telemetry, () => provider.forceFlush())
  const all = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  await provider.shutdown()

  const measured = new Map(all.map((metric) => [metric.descriptor.name, measuredOf(metric)]))
  const missing = [...made].filter((name) => !measured.has(name))
  if (missing.length > 0) throw new Error(`created but never recorded: ${missing.join(', ')}`)
  return [...measured.values()]
}

/**
 * Two rounds with tools, over a wire; one request that is rejected, one that breaks, one run that
 * fails.
 */
async function ownRuns(telemetry: Telemetry) {
  const usage = {
    inputTokens: 90,
    outputTokens: 20,
    reasoningTokens: 5,
    cacheReadTokens: 40,
    cacheWriteTokens: 30,
  }
  const provider = await providerSimulator(
    [
      [{ error: { code: 'overloaded' } }],
      [{ text: 'Let me' }, { error: { code: 'stream_error' } }],
      [{ call: 'orders', input: {} }, { call: 'stock', input: {} }, { usage }],
      // Longer than one read from a socket.
      'It has shipped. '.repeat(20_000),
      [{ error: { code: 'auth' } }],
    ],
    { checks: false, deltaChars: 10_000 },
  )
  const model = anthropic('claude-sonnet-5-5', { baseURL: provider.url, apiKey: 'sk-ant-test' })
  const named = (name: string, run: () => Promise<string>) =>
    tool({ name, description: name, input: z.object({}), run })
  const support = agent({
    name: 'support',
    model,
    tools: [
      named('orders', async () => 'shipped'),
      named('stock', () => Promise.reject(new Error('the database is unavailable'))),
    ],
    retry: { baseMs: 1 },
    telemetry,
  })
  try {
    await support.run('Where is ORD-42?')
    await support.stream('And now?').result
  } finally {
    await provider.close()
  }
}

/** A round whose price and context are known, and a tool that costs something. A budget ends it. */
async function paidRun(telemetry: Telemetry) {
  const model = scriptedModel([[{ call: 'search' }, { usage: { inputTokens: 9, outputTokens: 2 } }]], {
    price: { input: 1, output: 4 },
  })
  const search = tool({
    name: 'search',
    description: 'Searches',
    input: z.object({}),
    run(_, { spend }) {
      spend({ usd: 0.01 })
      return 'nothing'
    },
  })
  const budget = { rounds: 1 }
  await agent({ name: 'support', model, tools: [search], budget, maxContextTokens: 100, telemetry }).run('Hi')
}

/**
 * One thread whose process is lost, with a failing disk, and one whose context cannot be created.
 */
async function threads(telemetry: Telemetry, whileOpen: () => Promise<void>) {
  let time = 1_000_000
  const store = memoryStore({ now: () => time })
  const options = { telemetry, leaseMs: 60_000, recoverMs: 10, onError() {} }
  const named = (model: ReturnType<typeof scriptedModel>) => agent({ name: 'support', model })

  const lost = millrace({
    ...options,
    store,
    agents: named(scriptedModel(() => [{ text: 'Let' }, { hang: true }])),
  })
  const followed = lost.thread('t').follow()[Symbol.asyncIterator]()
  await lost.thread('t').send('Where is ORD-42?')
  for (let next = await followed.next(); next.value?.event.type !== 'text'; next = await followed.next());

  time += 60_001
  const successor = millrace({
    ...options,
    store: failingOnce(store),
    agents: named(scriptedModel(() => 'It has shipped.')),
    quotas: { storedBytes: 1 },
    context({ id }) {
      if (id === 'bad') throw new Error('no such customer')
    },
  })
  for await (const _ of successor.thread('t').follow({ until: 'idle' }));
  const seq = await successor.thread('bad').send('And mine?')
  for await (const _ of successor.thread('bad').follow({ until: seq }));

  const full = successor.thread('full', { user: 'ann' })
  await full.create()
  await full.send('Is there room?').catch(() => {})

  await whileOpen()
  await followed.return?.()
  await successor.close()
  await lost.close({ graceMs: 0 })
  await store.close()
}

/** Fails the first write. */
function failingOnce(store: ThreadStore): ThreadStore {
  let isFirst = true
  return new Proxy(store, {
    get(target, name: keyof ThreadStore) {
      if (name !== 'append') return target[name]
      return async (batches: Parameters<ThreadStore['append']>[0]) => {
        if (!isFirst) return target.append(batches)
        isFirst = false
        throw new Error('the disk failed')
      }
    },
  })
}

/** The same provider, recording the metrics that are created. */
function recording(provider: MeterProviderApi, made: Set<string>): MeterProviderApi {
  return {
    getMeter(...scope) {
      return new Proxy(provider.getMeter(...scope), {
        get(meter, key: keyof Meter) {
          const method = meter[key] as (name: string, ...more: unknown[]) => unknown
          return (name: string, ...more: unknown[]) => {
            if (key.startsWith('create')) made.add(name)
            return method.call(meter, name, ...more)
          }
        },
      })
    },
  }
}

function measuredOf({ descriptor, ...metric }: MetricData): Measured {
  const { name, unit } = descriptor
  const attributes = new Set(metric.dataPoints.flatMap((point) => Object.keys(point.attributes)))
  return { name, unit, kind: kindOf(metric), attributes }
}

function kindOf(metric: Omit<MetricData, 'descriptor'>): Metric['kind'] {
  switch (metric.dataPointType) {
    case DataPointType.SUM:
      return 'counter'
    case DataPointType.GAUGE:
      return 'gauge'
    default:
      return 'histogram'
  }
}
