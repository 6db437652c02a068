import { spreadOf } from '../harness/measure.ts'
import { namesOption, numberOption } from '../harness/options.ts'
import type { Part, Saved } from '../harness/part.ts'
import { number, type Table, times } from '../harness/report.ts'
import type { Figures } from './run.ts'
import { bases, type Way, ways } from './ways.ts'

export interface Size {
  readonly sets: number
}

export interface Options {
  readonly way: readonly string[]
  readonly repeat: number | undefined
}

export interface CommandResults extends Saved {
  readonly measured: readonly Readonly<Record<string, Figures>>[]
  readonly ways: readonly Pick<Way, 'name' | 'title' | 'ours' | 'kind'>[]
}

const titles: Readonly<Record<Way['kind'], string>> = {
  answer: 'An answer of 20 deltas on the command line',
  serve: 'A server, up to the first byte of its first response',
}

const columns = [
  { key: 'first', label: 'CPU, first time' },
  { key: 'cpu', label: 'CPU, after that' },
  { key: 'wall', label: 'wall' },
] as const

export const commandsPart: Part<Size, Options, CommandResults> = {
  name: 'commands',
  title: 'The command line',
  about: 'a question, and the start of a server, on the command line; two minutes, 20 s with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error'],
  sizes: { full: { sets: 15 }, quick: { sets: 3 }, tiny: { sets: 1 } },
  options: {
    way: namesOption(
      ways.map(({ name }) => name),
      'only these commands, or those of a checkout (its path)',
      (name) => name.includes('/'),
    ),
    repeat: numberOption('repetitions of each measurement'),
  },
  run: async (context) => (await import('./run.ts')).measureCommands(context),
  tables: (results) =>
    [tableOf('answer', results), tableOf('serve', results)].filter(({ rows }) => rows.length > 0),
  faults: () => [],
}

function tableOf(kind: Way['kind'], { measured, ways: all }: CommandResults): Table {
  return {
    title: titles[kind],
    head: ['', ...columns.map(({ label }) => label)],
    rows: all
      .filter((way) => way.kind === kind)
      .map(({ name, title, ours }) => ({
        ours,
        cells: [title, ...columns.map(({ key }) => cellOf(measured, key, name, bases[kind]))],
      })),
    notes: [],
  }
}

function cellOf(sets: CommandResults['measured'], key: keyof Figures, way: string, base: string): string {
  const { median, low, high } = spreadOf(sets.flatMap((set) => set[way]?.[key] ?? []))
  // Compared within a set: other load on the machine affects both.
  const ratios = sets.flatMap((set) => {
    const [own, other] = [set[way]?.[key], set[base]?.[key]]
    return own !== undefined && other ? [own / other] : []
  })
  const ratio = ratios.length > 0 ? ` ${times(spreadOf(ratios).median)}` : ''
  return `${number(median)} ms (${number(low)}–${number(high)})${ratio}`
}
