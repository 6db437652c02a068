import { spreadOf } from '../harness/measure.ts'
import { flagOption, namesOption, numberOption } from '../harness/options.ts'
import type { Part, Saved } from '../harness/part.ts'
import { number, type Table } from '../harness/report.ts'
import type { Measurement } from './run.ts'
import { base, type Size, sizes, type WayName, type WorkName, ways, workloadOf, workloads } from './ways.ts'

export interface Options {
  readonly work: readonly WorkName[]
  readonly way: readonly WayName[]
  readonly repeat: number | undefined
  readonly profile: boolean
}

export interface UiStreamResults extends Saved {
  readonly measured: readonly Measurement[]
}

export const uiStreamPart: Part<Size, Options, UiStreamResults> = {
  name: 'ui-stream',
  title: 'The stream for `useChat`',
  about: 'the AI SDK UI message stream, served by Millrace and by the AI SDK; 15 minutes, three with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error'],
  sizes,
  options: {
    work: namesOption(
      workloads.map(({ name }) => name),
      'only these workloads',
    ),
    way: namesOption(
      ways.map(({ name }) => name),
      'only these servers',
    ),
    repeat: numberOption('repetitions of each measurement'),
    profile: flagOption('write a CPU profile of each server to bench/.cache/'),
  },
  run: async (context) => (await import('./run.ts')).measureUiStream(context),
  tables: ({ mode, measured }) => measured.map((one) => tableOf(one, sizes[mode])),
  faults: () => [],
}

function tableOf({ work, sets }: Measurement, size: Size): Table {
  return {
    title: workloadOf(work).title(size),
    head: ['', 'CPU per delta', 'of the AI SDK’s'],
    rows: ways.flatMap(({ name, title, ours }) => {
      const costs = sets.flatMap((set) => set[name] ?? [])
      // Compared within a set: other load on the machine affects both.
      const shares = sets.flatMap(({ [name]: own, [base]: other }) =>
        own === undefined || other === undefined ? [] : [(own / other) * 100],
      )
      const share = name === base ? '100 %' : shares.length > 0 ? spreadCell(shares, '%') : '–'
      return costs.length > 0 ? [{ ours, cells: [title, spreadCell(costs, 'µs'), share] }] : []
    }),
    notes: [],
  }
}

function spreadCell(values: readonly number[], unit: string): string {
  const { median, low, high } = spreadOf(values)
  return `${number(median)} ${unit} (${number(low)}–${number(high)})`
}
