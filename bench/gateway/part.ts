import { spreadOf } from '../harness/measure.ts'
import { flagOption, namesOption, numberOption } from '../harness/options.ts'
import type { Part, Saved } from '../harness/part.ts'
import { number, type Table, times } from '../harness/report.ts'
import {
  base,
  type RouteName,
  routes,
  type Size,
  sizes,
  type WayName,
  type WorkName,
  ways,
  workloads,
} from './ways.ts'

export interface Options {
  readonly work: readonly WorkName[]
  readonly route: readonly RouteName[]
  readonly way: readonly WayName[]
  readonly repeat: number | undefined
  readonly profile: boolean
}

/** CPU time per delta in µs, of each gateway. */
export type Measured = Partial<Record<WayName, number>>

export interface Measurement {
  readonly work: WorkName
  readonly route: RouteName
  readonly sets: readonly Measured[]
}

export interface GatewayResults extends Saved {
  readonly measured: readonly Measurement[]
  /** Gateways whose packages are not installed. */
  readonly leftOut: readonly WayName[]
}

export const gatewayPart: Part<Size, Options, GatewayResults> = {
  name: 'gateway',
  title: 'The gateway',
  about:
    'a model provider behind Millrace, other gateways and a bare proxy; over an hour, 15 minutes with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error'],
  sizes,
  options: {
    work: namesOption(
      workloads.map(({ name }) => name),
      'only these workloads',
    ),
    route: namesOption(
      routes.map(({ name }) => name),
      'only these formats',
    ),
    way: namesOption(
      ways.map(({ name }) => name),
      'only these gateways',
    ),
    repeat: numberOption('repetitions of each measurement'),
    profile: flagOption('write a CPU profile of each gateway to bench/.cache/'),
  },
  run: async (context) => (await import('./run.ts')).measureGateway(context),
  tables: (results) =>
    workloads
      .filter(({ name }) => results.measured.some(({ work }) => work === name))
      .map(({ name, title }) => tableOf(name, title(sizes[results.mode]), results)),
  faults: () => [],
}

function tableOf(work: WorkName, title: string, { measured, leftOut }: GatewayResults): Table {
  const columns = routes.flatMap((route) =>
    measured
      .filter((one) => one.work === work && one.route === route.name)
      .map(({ sets }) => ({ route, sets })),
  )
  return {
    title,
    head: ['', ...columns.map(({ route }) => route.title)],
    rows: ways.flatMap(({ name, title, ours }) => {
      const cells = columns.map(({ sets }) => cellOf(name, sets))
      return cells.every((cell) => cell === '–') ? [] : [{ ours, cells: [title, ...cells] }]
    }),
    notes: ways
      .filter(({ name }) => leftOut.includes(name))
      .map(({ title, needs }) => `${title}: left out, ${needs} is not installed`),
  }
}

function cellOf(way: WayName, sets: readonly Measured[]): string {
  const costs = sets.flatMap((set) => set[way] ?? [])
  if (costs.length === 0) return '–'
  // Compared within a set: other load on the machine affects both.
  const ratios = sets.flatMap(({ [way]: own, [base]: other }) =>
    own === undefined || other === undefined ? [] : [own / other],
  )
  const { median, low, high } = spreadOf(costs)
  const cost = `${number(median)} µs (${number(low)}–${number(high)})`
  return ratios.length > 0 ? `${cost} ${times(spreadOf(ratios).median)}` : cost
}
