import { rounded, type Spread, spreadOf } from '../harness/measure.ts'
import type { Mode, Part, Saved } from '../harness/part.ts'
import { grouped, number, type Table, times, versionsOf, withUnit } from '../harness/report.ts'

export interface Size {
  /** The answer: its size, the number of pieces, and the pieces per frame. */
  readonly answer: {
    readonly kb: number
    readonly pieces: number
    readonly perFrame: number
    readonly runs: number
  }
  /** The thread to open. */
  readonly thread: { readonly events: number; readonly runs: number }
  /** The thread list to scroll. */
  readonly list: { readonly threads: number; readonly runs: number }
  /** The answer to follow. */
  readonly words: { readonly perSecond: number; readonly seconds: number; readonly runs: number }
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    answer: { kb: 200, pieces: 10_000, perFrame: 5, runs: 3 },
    thread: { events: 100_000, runs: 5 },
    list: { threads: 1000, runs: 5 },
    words: { perSecond: 200, seconds: 20, runs: 3 },
  },
  quick: {
    answer: { kb: 50, pieces: 2500, perFrame: 5, runs: 1 },
    thread: { events: 100_000, runs: 1 },
    list: { threads: 1000, runs: 1 },
    words: { perSecond: 200, seconds: 5, runs: 1 },
  },
  tiny: {
    answer: { kb: 4, pieces: 200, perFrame: 5, runs: 1 },
    thread: { events: 400, runs: 1 },
    list: { threads: 100, runs: 1 },
    words: { perSecond: 200, seconds: 1, runs: 1 },
  },
}

/** A row of a table. The others are compared with the row named `floor`. */
export interface Row {
  readonly name: string
  readonly title: string
  readonly figures: Readonly<Record<string, Spread>>
  /** Why there are no figures. */
  readonly leftOut?: string
}

/** One table. */
export interface Measured {
  readonly name: 'size' | 'writing' | 'opening' | 'listing' | 'following'
  readonly title: string
  readonly rows: readonly Row[]
}

export interface PageResults extends Saved {
  readonly chromium: string
  readonly tables: readonly Measured[]
}

/** The figures of all runs, as one row. */
export function rowOf(name: string, title: string, runs: readonly Readonly<Record<string, number>>[]): Row {
  const keys = Object.keys(runs[0] ?? {})
  const valuesOf = (key: string) => runs.map((run) => run[key] ?? Number.NaN)
  const spreads = keys.map((key) => [key, spreadOf(rounded(valuesOf(key), 4))] as const)
  return { name, title, figures: Object.fromEntries(spreads) }
}

interface Column {
  readonly key: string
  readonly label: string
  readonly unit: 'KB' | 'ms' | '%' | '×' | ''
  /** Whether it is compared with the floor. */
  readonly ratio?: boolean
}

const columns: Readonly<Record<Measured['name'], readonly Column[]>> = {
  size: [{ key: 'kb', label: 'gzipped', unit: 'KB' }],
  writing: [
    { key: 'perKb', label: 'main thread per KB', unit: 'ms', ratio: true },
    { key: 'script', label: 'scripts', unit: 'ms' },
    { key: 'layout', label: 'styles and layout', unit: 'ms' },
    { key: 'growth', label: 'last quarter / first', unit: '×' },
    { key: 'nodes', label: 'nodes', unit: '' },
  ],
  opening: [
    { key: 'ms', label: 'main thread', unit: 'ms', ratio: true },
    { key: 'layout', label: 'styles and layout', unit: 'ms' },
    { key: 'nodes', label: 'nodes', unit: '' },
    { key: 'requests', label: 'requests', unit: '' },
  ],
  listing: [
    { key: 'ms', label: 'main thread', unit: 'ms', ratio: true },
    { key: 'layout', label: 'styles and layout', unit: 'ms' },
    { key: 'perFrame', label: 'per frame', unit: 'ms' },
    { key: 'nodes', label: 'nodes', unit: '' },
    { key: 'requests', label: 'requests', unit: '' },
  ],
  following: [
    { key: 'share', label: 'main thread, of one core', unit: '%', ratio: true },
    { key: 'script', label: 'scripts', unit: '%' },
    { key: 'layout', label: 'styles and layout', unit: '%' },
  ],
}

function cellOf({ figures }: Row, { key, unit, ratio = false }: Column, floor: Row | undefined): string {
  const spread = figures[key]
  if (!spread) return '–'
  const { median, low, high } = spread
  const shown = unit === '' ? grouped : number
  const range = low === high ? '' : ` (${shown(low)}–${shown(high)})`
  const base = ratio ? floor?.figures[key]?.median : undefined
  return `${unit === '' ? grouped(median) : withUnit(median, unit)}${range}${base ? ` ${times(median / base)}` : ''}`
}

function tableOf({ name, title, rows }: Measured): Table {
  const floor = rows.find((row) => row.name === 'floor')
  return {
    title,
    head: ['', ...columns[name].map(({ label }) => label)],
    rows: rows.map((row) => ({
      cells: [row.title, ...columns[name].map((column) => cellOf(row, column, floor))],
      ours: row.name === 'ours',
    })),
    notes: rows.flatMap((row) =>
      row.leftOut === undefined ? [] : [`${row.title}: left out, ${row.leftOut}`],
    ),
  }
}

export const pagePart: Part<Size, object, PageResults> = {
  name: 'page',
  title: 'The page',
  about: 'the page in a real Chromium; 20 minutes, two or three with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error', 'tsc -p bench/page/stage'],
  sizes,
  options: {},
  async run({ size, signal, onStep }) {
    const { measurePage } = await import('./run.ts')
    return { packages: versionsOf('marked'), ...(await measurePage(size, signal, onStep)) }
  },
  details: ({ chromium }) => [`Chromium ${chromium}`],
  tables: ({ tables }) => tables.map(tableOf),
  faults: () => [],
}
