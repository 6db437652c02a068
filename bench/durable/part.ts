import { spreadOf } from '../harness/measure.ts'
import { flagOption, namesOption, numberOption } from '../harness/options.ts'
import type { Part, Saved } from '../harness/part.ts'
import { type Table, times, withUnit } from '../harness/report.ts'
import type { Figure, Figures } from '../workloads/workload.ts'
import { type Scenario, type Size, sizes } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import { ways } from './ways.ts'

export interface Options {
  readonly scenario: readonly string[]
  readonly way: readonly string[]
  readonly repeat: number | undefined
  readonly profile: boolean
}

export interface Measurement {
  readonly scenario: string
  /** The figures of each way. */
  readonly sets: readonly Readonly<Record<string, Figures>>[]
  /** What was lost, repeated or broken. */
  readonly faults: readonly string[]
}

export interface ServerResults extends Saved {
  readonly measured: readonly Measurement[]
  readonly ways: readonly { readonly name: string; readonly title: string; readonly ours: boolean }[]
  /** Ways that cannot run on this machine, and why. */
  readonly leftOut: readonly string[]
}

export const serverPart: Part<Size, Options, ServerResults> = {
  name: 'server',
  title: 'A durable agent server',
  about:
    'durable runs over HTTP, compared with a server by hand and with peers; an hour, ten minutes with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error'],
  sizes,
  options: {
    scenario: namesOption(
      scenarios.map(({ name }) => name),
      'only these scenarios',
    ),
    way: namesOption(
      ways.map(({ name }) => name),
      'only these servers, or Millrace as built in a checkout (its path)',
      (name) => name.includes('/'),
    ),
    repeat: numberOption('repetitions of each measurement'),
    profile: flagOption('write a CPU profile of each server to bench/.cache/'),
  },
  run: async (context) => (await import('./run.ts')).measureServers(context),
  tables: (results) =>
    results.measured.flatMap((one) => {
      const scenario = scenarios.find(({ name }) => name === one.scenario)
      return scenario ? [tableOf(scenario, one, results)] : []
    }),
  faults: ({ measured }) =>
    measured.flatMap(({ scenario, faults }) => faults.map((fault) => `${scenario}: ${fault}`)),
  /** Scenarios that were not measured again stay. */
  merge: (before, now) => ({
    ...now,
    ways: [...now.ways, ...before.ways.filter(({ name }) => !now.ways.some((way) => way.name === name))],
    measured: scenarios.flatMap(({ name }) => {
      const find = ({ measured }: ServerResults) => measured.find(({ scenario }) => scenario === name)
      return find(now) ?? find(before) ?? []
    }),
  }),
}

function tableOf(
  { title, figures, base }: Scenario,
  { sets }: Measurement,
  { ways, leftOut, mode }: ServerResults,
): Table {
  return {
    title: title(sizes[mode]),
    head: ['', ...figures.map(({ label }) => label)],
    rows: ways.flatMap(({ name, title, ours }) =>
      sets.some((set) => set[name] !== undefined)
        ? [{ ours, cells: [title, ...figures.map((figure) => cellOf(figure, name, base, sets))] }]
        : [],
    ),
    notes: leftOut,
  }
}

/** A figure of a way in each set. */
export const valuesIn = (results: ServerResults | undefined, scenario: string, way: string, key: string) =>
  setsOf(results, scenario).flatMap((set) => set[way]?.[key] ?? [])

/** The same as a multiple of another way, compared within a set: other load affects both. */
export const ratiosIn = (
  results: ServerResults | undefined,
  scenario: string,
  way: string,
  key: string,
  base: string,
) => setsOf(results, scenario).flatMap((set) => ratioOf(set, way, key, base))

const setsOf = (results: ServerResults | undefined, scenario: string) =>
  results?.measured.find((one) => one.scenario === scenario)?.sets ?? []

function ratioOf(set: Measurement['sets'][number], way: string, key: string, base: string): number[] {
  const [own, other] = [set[way]?.[key], set[base]?.[key]]
  return own !== undefined && other ? [own / other] : []
}

function cellOf({ key, unit, ratio }: Figure, way: string, base: string, sets: Measurement['sets']): string {
  const values = sets.flatMap((set) => set[way]?.[key] ?? [])
  if (values.length === 0) return '–'
  const { median, low, high } = spreadOf(values)
  const range = values.length > 1 ? ` (${withUnit(low, '')}–${withUnit(high, '')})` : ''
  const ratios = ratio ? sets.flatMap((set) => ratioOf(set, way, key, base)) : []
  return `${withUnit(median, unit)}${range}${ratios.length > 0 ? ` ${times(spreadOf(ratios).median)}` : ''}`
}
