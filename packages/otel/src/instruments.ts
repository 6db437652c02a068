import type { Attributes, Counter, Histogram, Meter, MeterProvider } from '@opentelemetry/api'
import { createNoopMeter, metrics } from '@opentelemetry/api'
import type { Usage } from 'millrace'
import type { AppGauges } from 'millrace/internal'
import type { LocalCounter } from './local-counter.ts'
import { localCounter } from './local-counter.ts'
import { loopDelay } from './loop-delay.ts'
import { tokenKinds } from './usage.ts'

/** The instrumentation scope of all spans and metrics. */
export const scope = 'millrace'

/**
 * In autumn 2026 `gen_ai.client.operation.duration` became `gen_ai.client.inference.duration`, and
 * the histogram `gen_ai.client.token.usage` a counter for each kind of token. Many backends still
 * read the older ones.
 */
export type Conventions = 'current' | 'older' | 'both'

/** A model call as the metrics see it. */
interface CallMeasure {
  readonly attributes: Attributes
  /** Attributes for its token counters. Equal ones must be the same object. */
  readonly counted: Attributes
  readonly seconds: number
  readonly errorType: string | undefined
  /** Undefined if nothing arrived, or everything at once. */
  readonly firstChunkSeconds: number | undefined
  readonly usage: Partial<Usage>
}

/** All metrics. */
export interface Instruments {
  /** False if no meter provider is registered. */
  readonly isEnabled: boolean
  call(measure: CallMeasure): void
  /** The time between two chunks of one answer. */
  chunk(seconds: number, attributes: Attributes): void
  readonly runSeconds: Histogram
  readonly toolSeconds: Histogram
  /** A run has ended. */
  ended(agent: string, outcome: string): void
  /** Equal attributes of these two must be the same object. */
  readonly cost: LocalCounter
  readonly unknownPrices: LocalCounter
  readonly budgets: Counter
  readonly contextUse: Histogram
  readonly retries: Counter
  readonly retractions: Counter
  readonly takeovers: Counter
  readonly errors: Counter
  readonly rejections: Counter
  readonly flushSize: Histogram
  readonly flushSeconds: Histogram
  /** The open apps. */
  readonly apps: Set<AppGauges>
}

/**
 * Bucket boundaries from the conventions: one list for model calls and tools, another for whole
 * runs.
 */
const callBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const runBounds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const tokenBounds = [
  1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
]
const flushBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]
const shareBounds = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
const sizeBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]

/**
 * Returns the instruments of a meter provider. A global provider may be registered late, and
 * instruments created before that never record anything, so they are created again when it changes.
 */
export function instrumentsOf(provider: MeterProvider | undefined, conventions: Conventions) {
  const apps = new Set<AppGauges>()
  let currentProvider: MeterProvider | undefined
  let instruments: Instruments | undefined
  return (): Instruments => {
    const current = provider ?? metrics.getMeterProvider()
    if (instruments && current === currentProvider) return instruments
    currentProvider = current
    instruments = makeInstruments(current.getMeter(scope), { conventions, apps })
    return instruments
  }
}

function makeInstruments(
  meter: Meter,
  { conventions, apps }: { readonly conventions: Conventions; readonly apps: Set<AppGauges> },
): Instruments {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description })
  const sum = (name: string, unit: string, description: string) =>
    localCounter(meter, name, { unit, description })
  const histogram = (name: string, unit: string, bounds: number[], description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } })
  const calls = [
    ...(conventions === 'older' ? [] : [currentCalls(sum, histogram)]),
    ...(conventions === 'current' ? [] : [olderCalls(histogram)]),
  ]
  const runs = sum('millrace.runs', '{run}', 'Runs that ended, by outcome.')
  const endings = new Map<string, Attributes>()
  watchApps(meter, apps)
  return {
    isEnabled: meter !== createNoopMeter(),
    call(measure) {
      for (const one of calls) one.call(measure)
    },
    chunk(seconds, attributes) {
      for (const one of calls) one.chunk.record(seconds, attributes)
    },
    runSeconds: histogram('gen_ai.invoke_agent.duration', 's', runBounds, 'Duration of a run.'),
    toolSeconds: histogram('gen_ai.execute_tool.duration', 's', callBounds, 'Duration of a tool call.'),
    ended(agent, outcome) {
      const key = `${agent}\n${outcome}`
      const attributes = endings.get(key) ?? { 'gen_ai.agent.name': agent, 'millrace.run.outcome': outcome }
      endings.set(key, attributes)
      runs.add(1, attributes)
    },
    cost: sum('millrace.cost', '{USD}', 'Cost of model requests and tools, in US dollars.'),
    unknownPrices: sum('millrace.cost.unknown', '{request}', 'Model requests whose price is not known.'),
    budgets: counter('millrace.budget.reached', '{limit}', 'Limits of budgets that runs have reached.'),
    contextUse: histogram(
      'millrace.context.usage',
      '1',
      shareBounds,
      "Share of the model's context that is full after a round.",
    ),
    retries: counter('millrace.retries', '{retry}', 'Model requests that were retried, by error.'),
    retractions: counter(
      'millrace.retractions',
      '{retraction}',
      'Rounds that were retracted and generated again.',
    ),
    takeovers: counter('millrace.takeovers', '{run}', 'Runs that were resumed after their process died.'),
    errors: counter('millrace.errors', '{error}', 'Background failures.'),
    rejections: counter('millrace.refusals', '{request}', 'Requests rejected by a limit, by its name.'),
    flushSize: histogram('millrace.flush.size', '{event}', sizeBounds, 'Events per commit to the store.'),
    flushSeconds: histogram(
      'millrace.flush.duration',
      's',
      flushBounds,
      'Duration of a commit to the store.',
    ),
    apps,
  }
}

type MakeSum = (name: string, unit: string, description: string) => LocalCounter
type MakeHistogram = (name: string, unit: string, bounds: number[], description: string) => Histogram

interface Calls {
  call(measure: CallMeasure): void
  readonly chunk: Histogram
}

function currentCalls(sum: MakeSum, histogram: MakeHistogram): Calls {
  const name = 'gen_ai.client.inference'
  const duration = histogram(`${name}.duration`, 's', callBounds, 'Duration of a model call.')
  const firstChunk = histogram(
    `${name}.time_to_first_chunk`,
    's',
    callBounds,
    'Time from the request to the first chunk.',
  )
  const chunk = histogram(`${name}.time_per_output_chunk`, 's', callBounds, 'Time between two chunks.')
  const spent = tokenKinds.map(({ kind, name: of, isTotal }) => ({
    kind,
    isTotal,
    tokens: sum(`${name}.usage.${of}`, '{token}', `Tokens used: ${of}.`),
  }))
  return {
    chunk,
    call({ attributes, counted, seconds, errorType, firstChunkSeconds, usage }) {
      duration.record(seconds, withError(attributes, errorType))
      if (firstChunkSeconds !== undefined) firstChunk.record(firstChunkSeconds, attributes)
      for (const { kind, isTotal, tokens } of spent) {
        const count = usage[kind] ?? 0
        // 0 if the call reports no usage, as the conventions require, so that the series exists.
        if (isTotal || count > 0) tokens.add(count, counted)
      }
    },
  }
}

function olderCalls(histogram: MakeHistogram): Calls {
  const name = 'gen_ai.client.operation'
  const duration = histogram(`${name}.duration`, 's', callBounds, 'Duration of a model call.')
  const firstChunk = histogram(
    `${name}.time_to_first_chunk`,
    's',
    callBounds,
    'Time from the request to the first chunk.',
  )
  const chunk = histogram(`${name}.time_per_output_chunk`, 's', callBounds, 'Time between two chunks.')
  const tokens = histogram('gen_ai.client.token.usage', '{token}', tokenBounds, 'Tokens of one model call.')
  return {
    chunk,
    call({ attributes, seconds, errorType, firstChunkSeconds, usage }) {
      duration.record(seconds, withError(attributes, errorType))
      if (firstChunkSeconds !== undefined) firstChunk.record(firstChunkSeconds, attributes)
      for (const [count, type] of [
        [usage.inputTokens, 'input'],
        [usage.outputTokens, 'output'],
      ] as const)
        if (count !== undefined) tokens.record(count, { ...attributes, 'gen_ai.token.type': type })
    },
  }
}

export function withError(attributes: Attributes, errorType: string | undefined): Attributes {
  return errorType === undefined ? attributes : { ...attributes, 'error.type': errorType }
}

/**
 * Reports nothing before the first app, and 0 after the last: otherwise an SDK would keep reporting
 * the last value.
 */
function watchApps(meter: Meter, apps: ReadonlySet<AppGauges>) {
  let hadApps = false
  const gauge = (
    name: string,
    unit: string,
    description: string,
    read: (all: readonly AppGauges[]) => number,
  ) =>
    meter.createObservableGauge(name, { unit, description }).addCallback((result) => {
      hadApps ||= apps.size > 0
      if (hadApps) result.observe(read([...apps]))
    })
  const sum = (read: (app: AppGauges) => number) => (all: readonly AppGauges[]) =>
    all.reduce((total, app) => total + read(app), 0)
  gauge(
    'millrace.streams.open',
    '{stream}',
    'Followers of threads.',
    sum((app) => app.followers()),
  )
  gauge('millrace.follower.lag', '{entry}', 'Entries that the slowest follower is behind.', (all) =>
    Math.max(0, ...all.map((app) => app.lag())),
  )
  gauge(
    'millrace.threads.running',
    '{thread}',
    'Threads with a running worker.',
    sum((app) => app.running()),
  )
  gauge(
    'millrace.queue.depth',
    '{thread}',
    'Runnable threads that wait for a free slot.',
    sum((app) => app.waiting()),
  )
  gauge(
    'millrace.queue.age',
    's',
    'For how long the thread that has waited longest could have run.',
    (all) => Math.max(0, ...all.map((app) => app.oldest?.() ?? 0)) / 1000,
  )
  gauge(
    'millrace.buffer.size',
    'By',
    'Bytes buffered for clients: request bodies, responses, entries that wait for followers.',
    sum((app) => app.buffered()),
  )
  let delay: (() => number) | undefined
  gauge('millrace.loop.delay', 's', 'Event loop delay since the last reading, 99th percentile.', (all) => {
    if (all.length === 0) return 0
    delay ??= loopDelay()
    return delay()
  })
}
