import type { Wire } from '../contract.ts'
import { median } from '../harness/measure.ts'
import type { Saved } from '../harness/part.ts'
import { number, type Table } from '../harness/report.ts'
import type { Played } from './player.ts'
import type { Received } from './receiver.ts'
import type { Measured } from './run.ts'
import { base, sizes, type Way, type WayName, type Workload, type WorkName, ways, workloads } from './ways.ts'

/** What one kind of telemetry costs for one workload over one wire. */
export interface Figure {
  readonly work: WorkName
  readonly wire: Wire
  readonly way: WayName
  /** CPU time of one unit in µs, the median of all sets. */
  readonly cpu: number
  /**
   * The extra cost over the base of the same set, as a fraction of it; absent for the base itself.
   */
  readonly more?: Estimate
  /** CPU time to send all metrics, in ms; absent without metrics. */
  readonly flushMs?: number
}

export interface Estimate {
  readonly median: number
  /** The 95 % confidence interval of the median. */
  readonly low: number
  readonly high: number
  readonly values: readonly number[]
}

export function figureOf(
  place: Pick<Figure, 'work' | 'wire' | 'way'>,
  sets: readonly Measured[],
): Figure | undefined {
  const cpus = sets.flatMap(({ cpu }) => cpu[place.way] ?? [])
  if (cpus.length === 0) return undefined
  const more = sets.flatMap(({ cpu: { [place.way]: own, [base]: plain } }) =>
    own === undefined || plain === undefined ? [] : [own / plain - 1],
  )
  const flushes = sets.flatMap(({ flush }) => flush[place.way] ?? [])
  return {
    ...place,
    cpu: median(cpus),
    ...(place.way !== base && { more: estimate(more) }),
    ...(flushes.length > 0 && { flushMs: median(flushes) }),
  }
}

/**
 * The interval of the sign test, which assumes no distribution. With fewer than six values, it is
 * the whole range.
 */
export function estimate(values: readonly number[]): Estimate {
  const sorted = values.toSorted((a, b) => a - b)
  const out = leftOut(sorted.length)
  const [low, high] = [sorted[out], sorted[sorted.length - 1 - out]]
  return { median: median(values), low: low ?? Number.NaN, high: high ?? Number.NaN, values }
}

/**
 * How many values to drop at each end: that many heads or fewer come up at most once in forty
 * throws of `count` coins.
 */
function leftOut(count: number): number {
  let chance = 0.5 ** count
  let sum = chance
  let out = 0
  while (sum <= 0.025) {
    out++
    chance *= (count - out + 1) / out
    sum += chance
  }
  return Math.max(0, out - 1)
}

/** A metric that every model call records. */
const someMetric = 'gen_ai.client.inference.duration'
const chunkMetric = 'gen_ai.client.inference.time_per_output_chunk'

/** Telemetry that did not arrive, or should not have. */
export function faultsOf(work: Workload, way: Way, { plays, lines }: Played, received: Received): string[] {
  const { spans, metrics } = received
  const made = plays * work.spans
  const isWhole = spans % work.spans === 0 && spans < made
  const isRight = { all: spans === made, some: isWhole, nothing: spans === 0 }[way.sends]
  const needs = way.sends === 'nothing' ? [] : [someMetric]
  // A short answer may arrive in one piece.
  const needsChunks = way.sends === 'all' && work.name === 'text' && way.name !== 'without-chunks'
  const lacks = [...needs, ...(needsChunks ? [chunkMetric] : [])].filter((name) => !metrics.includes(name))
  const isTooMuch =
    way.sends === 'nothing'
      ? metrics.length > 0
      : way.name === 'without-chunks' && metrics.includes(chunkMetric)
  return [
    ...(isRight ? [] : [`${spans} of ${made} spans arrived`]),
    ...lacks.map((name) => `no ${name} arrived`),
    ...(isTooMuch ? [`${metrics.join(', ')} arrived`] : []),
    ...(lines === undefined || lines === plays ? [] : [`${lines} lines were written for ${plays} runs`]),
  ]
}

export interface TelemetryResults extends Saved {
  readonly sets: number
  readonly figures: readonly Figure[]
  readonly faults: readonly string[]
}

const percent = (part: number) => (part * 100).toFixed(1)
const signed = (part: number) => `${part < 0 ? '' : '+'}${percent(part)} %`

function cell({ cpu, more }: Figure): string {
  const own = `${number(cpu)} µs`
  return more ? `${own} ${signed(more.median)} (${percent(more.low)} to ${percent(more.high)})` : own
}

function tableOf({ name, title, unit }: Workload, { mode, figures }: TelemetryResults): Table | undefined {
  const own = figures.filter(({ work }) => work === name)
  if (own.length === 0) return undefined
  const wires = [...new Set(own.map(({ wire }) => wire))]
  const cellFor = (way: string, wire: Wire) => own.find((one) => one.way === way && one.wire === wire)
  return {
    title: title(sizes[mode]),
    head: ['', ...wires.map((wire) => `CPU per ${unit}, ${wire}`)],
    rows: ways
      .filter((way) => own.some((one) => one.way === way.name))
      .map((way) => ({
        ours: way.name === 'otel',
        cells: [
          way.title,
          ...wires.map((wire) => {
            const figure = cellFor(way.name, wire)
            return figure ? cell(figure) : '–'
          }),
        ],
      })),
    notes: own.flatMap(({ way, wire, flushMs }) =>
      way === 'otel' && wire === wires.at(-1) && flushMs !== undefined
        ? [`sending the metrics, which the SDK does once a minute, takes ${number(flushMs)} ms`]
        : [],
    ),
  }
}

export const tablesOf = (results: TelemetryResults) =>
  workloads.flatMap((work) => tableOf(work, results) ?? [])
