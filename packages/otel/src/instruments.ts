import type { Attributes, Counter, Histogram, Meter, MeterProvider } from '@opentelemetry/api'
import { createNoopMeter, metrics } from '@opentelemetry/api'
import type { Usage } from 'millrace'
import type { AppGauges } from 'millrace/internal'
import { loopDelay } from './loop-delay.ts'
import type { Sum } from './summed.ts'
import { summed } from './summed.ts'
import { tokenKinds } from './usage.ts'

/** The name under which everything is made. */
export const scope = 'millrace'

/**
 * In autumn 2026 `gen_ai.client.operation.duration` became `gen_ai.client.inference.duration`, and the histogram
 * `gen_ai.client.token.usage` a counter for each kind of token. Many backends still read the older ones.
 */
export type Conventions = 'current' | 'older' | 'both'

/** A model call as the metrics see it. */
interface CallMeasure {
  readonly attributes: Attributes
  /** Those of its tokens: the same object for the same ones. */
  readonly counted: Attributes
  readonly seconds: number
  readonly errorType: string | undefined
  /** Absent if nothing came, or all at once. */
  readonly firstChunkSeconds: number | undefined
  readonly usage: Partial<Usage>
}

/** Everything that is measured. */
export interface Instruments {
  /** False where nothing is registered that would take it. */
  readonly isHeard: boolean
  call(measure: CallMeasure): void
  /** Between two reads of one answer. */
  chunk(seconds: number, attributes: Attributes): void
  readonly runSeconds: Histogram
  readonly toolSeconds: Histogram
  /** A run is over. */
  ended(agent: string, outcome: string): void
  readonly retries: Counter
  readonly retractions: Counter
  readonly takeovers: Counter
  readonly errors: Counter
  readonly refusals: Counter
  readonly flushSize: Histogram
  readonly flushSeconds: Histogram
  /** The apps that are open. */
  readonly apps: Set<AppGauges>
}

/** As the conventions advise, one list for what takes as long as a model, another for whole runs. */
const callBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const runBounds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const tokenBounds = [
  1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
]
const flushBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]
const sizeBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]

/**
 * Gives the instruments of a provider. What is registered globally may be registered late, and what was made before that measures
 * nothing for ever: so they are made anew when it has changed.
 */
export function instrumentsOf(provider: MeterProvider | undefined, conventions: Conventions) {
  const apps = new Set<AppGauges>()
  let madeBy: MeterProvider | undefined
  let made: Instruments | undefined
  return (): Instruments => {
    const current = provider ?? metrics.getMeterProvider()
    if (made && current === madeBy) return made
    madeBy = current
    made = makeInstruments(current.getMeter(scope), { conventions, apps })
    return made
  }
}

function makeInstruments(
  meter: Meter,
  { conventions, apps }: { readonly conventions: Conventions; readonly apps: Set<AppGauges> },
): Instruments {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description })
  const sum = (name: string, unit: string, description: string) => summed(meter, name, { unit, description })
  const histogram = (name: string, unit: string, bounds: number[], description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } })
  const calls = [
    ...(conventions === 'older' ? [] : [currentCalls(sum, histogram)]),
    ...(conventions === 'current' ? [] : [olderCalls(histogram)]),
  ]
  const runs = sum('millrace.runs', '{run}', 'Runs that are over, by how they ended.')
  const endings = new Map<string, Attributes>()
  watchApps(meter, apps)
  return {
    isHeard: meter !== createNoopMeter(),
    call(measure) {
      for (const one of calls) one.call(measure)
    },
    chunk(seconds, attributes) {
      for (const one of calls) one.chunk.record(seconds, attributes)
    },
    runSeconds: histogram('gen_ai.invoke_agent.duration', 's', runBounds, 'How long a run took.'),
    toolSeconds: histogram('gen_ai.execute_tool.duration', 's', callBounds, 'How long a tool ran.'),
    ended(agent, outcome) {
      const key = `${agent}\n${outcome}`
      const attributes = endings.get(key) ?? { 'gen_ai.agent.name': agent, 'millrace.run.outcome': outcome }
      endings.set(key, attributes)
      runs.add(1, attributes)
    },
    retries: counter('millrace.retries', '{retry}', 'Requests to models that were sent again, by why.'),
    retractions: counter(
      'millrace.retractions',
      '{retraction}',
      'Rounds that were taken back and told anew.',
    ),
    takeovers: counter('millrace.takeovers', '{run}', 'Runs that went on after their process was lost.'),
    errors: counter('millrace.errors', '{error}', 'What went wrong in the background.'),
    refusals: counter('millrace.refusals', '{request}', 'Requests that a limit refused, by its name.'),
    flushSize: histogram('millrace.flush.size', '{event}', sizeBounds, 'Events made durable at once.'),
    flushSeconds: histogram('millrace.flush.duration', 's', flushBounds, 'How long that took.'),
    apps,
  }
}

type MakeSum = (name: string, unit: string, description: string) => Sum
type MakeHistogram = (name: string, unit: string, bounds: number[], description: string) => Histogram

interface Calls {
  call(measure: CallMeasure): void
  readonly chunk: Histogram
}

function currentCalls(sum: MakeSum, histogram: MakeHistogram): Calls {
  const name = 'gen_ai.client.inference'
  const duration = histogram(`${name}.duration`, 's', callBounds, 'How long a model call took.')
  const firstChunk = histogram(`${name}.time_to_first_chunk`, 's', callBounds, 'Until something came of it.')
  const chunk = histogram(`${name}.time_per_output_chunk`, 's', callBounds, 'Between two pieces of it.')
  const spent = tokenKinds.map(({ kind, name: of, isTotal }) => ({
    kind,
    isTotal,
    tokens: sum(`${name}.usage.${of}`, '{token}', `Tokens spent: ${of}.`),
  }))
  return {
    chunk,
    call({ attributes, counted, seconds, errorType, firstChunkSeconds, usage }) {
      duration.record(seconds, withError(attributes, errorType))
      if (firstChunkSeconds !== undefined) firstChunk.record(firstChunkSeconds, attributes)
      for (const { kind, isTotal, tokens } of spent) {
        const count = usage[kind] ?? 0
        // Of a call that tells nothing 0, as the conventions want it: then there is a series to look at.
        if (isTotal || count > 0) tokens.add(count, counted)
      }
    },
  }
}

function olderCalls(histogram: MakeHistogram): Calls {
  const name = 'gen_ai.client.operation'
  const duration = histogram(`${name}.duration`, 's', callBounds, 'How long a model call took.')
  const firstChunk = histogram(`${name}.time_to_first_chunk`, 's', callBounds, 'Until something came of it.')
  const chunk = histogram(`${name}.time_per_output_chunk`, 's', callBounds, 'Between two pieces of it.')
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

/** Says nothing before the first app. After the last it says 0: an SDK would go on telling what it was told last. */
function watchApps(meter: Meter, apps: ReadonlySet<AppGauges>) {
  let began = false
  const gauge = (
    name: string,
    unit: string,
    description: string,
    read: (all: readonly AppGauges[]) => number,
  ) =>
    meter.createObservableGauge(name, { unit, description }).addCallback((result) => {
      began ||= apps.size > 0
      if (began) result.observe(read([...apps]))
    })
  const sum = (read: (app: AppGauges) => number) => (all: readonly AppGauges[]) =>
    all.reduce((total, app) => total + read(app), 0)
  gauge(
    'millrace.streams.open',
    '{stream}',
    'Listeners that follow threads.',
    sum((app) => app.followers()),
  )
  gauge(
    'millrace.follower.lag',
    '{entry}',
    'Entries that the listener furthest behind has yet to get.',
    (all) => Math.max(0, ...all.map((app) => app.lag())),
  )
  gauge(
    'millrace.threads.running',
    '{thread}',
    'Threads that are being worked on.',
    sum((app) => app.running()),
  )
  gauge(
    'millrace.queue.depth',
    '{thread}',
    'Threads that wait until there is room for them.',
    sum((app) => app.waiting()),
  )
  gauge(
    'millrace.buffer.size',
    'By',
    'Bytes held for clients: bodies, answers, entries that wait for followers.',
    sum((app) => app.buffered()),
  )
  let delay: (() => number) | undefined
  gauge(
    'millrace.loop.delay',
    's',
    'How late the event loop was since the last reading, 99th percentile.',
    (all) => {
      if (all.length === 0) return 0
      delay ??= loopDelay()
      return delay()
    },
  )
}
