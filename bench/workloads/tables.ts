import type { Wire } from '../contract.ts'
import { mean } from '../harness/measure.ts'
import { number, type Table, times, withUnit } from '../harness/report.ts'
import { workloads } from './index.ts'
import { ourName } from './plan.ts'
import type { Results, Row } from './results.ts'
import { allWires, type Figure, type Workload } from './workload.ts'

/**
 * One for each workload, or for each of its sizes if those are not columns. The best client is on
 * top.
 */
export function tablesOf(results: Results): Table[] {
  return workloads.flatMap((work) => {
    const rows = results.rows.filter((row) => row.work === work.name)
    if (rows.length === 0) return []
    if (work.columns === 'cases') return [tableOf(results, work, rows, work.title, caseColumns(work, rows))]
    const byCase = Map.groupBy(rows, (row) => row.case)
    return Array.from(byCase, ([name, some]) => {
      const title = name ? `${work.title}: ${name}` : work.title
      return work.columns === 'wires'
        ? wireTables(results, work, some, title)
        : [tableOf(results, work, some, title, figureColumns(work, some))]
    }).flat()
  })
}

/** One for fresh processes, with the worse of the two ratios, and one for warm ones. */
function wireTables(results: Results, work: Workload, rows: readonly Row[], title: string): Table[] {
  const [worse, fresh, warm, ...rest] = work.figures
  const table = (what: string, main: Figure | undefined, more: readonly Figure[]) =>
    main && isThere(main, rows)
      ? [tableOf(results, work, rows, `${title}, ${what}`, wireColumns(main, more, rows))]
      : []
  return [
    ...table('in a fresh process', fresh, worse ? [worse] : []),
    ...table('in a warm process', warm, rest),
  ]
}

interface Columns {
  readonly head: readonly string[]
  /** Whether rows are labeled with the wire. */
  readonly wires: boolean
  cells(rows: readonly Row[]): string[]
}

function tableOf(
  results: Results,
  work: Workload,
  rows: readonly Row[],
  title: string,
  columns: Columns,
): Table {
  const groups = Map.groupBy(rows, (row) => (columns.wires ? `${row.client} ${row.wire}` : row.client))
  const several = columns.wires && new Set(rows.map(({ wire }) => wire)).size > 1
  const sorted = [...groups.values()]
    .filter((group) => group.some(({ state }) => state !== 'left-out'))
    .toSorted((a, b) => placeOf(work, a) - placeOf(work, b))
  return {
    title,
    head: ['', ...columns.head],
    rows: sorted.map((group) => {
      const { client = '', wire } = group[0] ?? {}
      const label = results.clients[client]?.label ?? client
      const named = several && work.needs !== 'imports' ? `${label} · ${wire}` : label
      return { cells: [named, ...columns.cells(group)], ours: client === ourName }
    }),
    notes: notesOf(results, rows),
  }
}

/**
 * By the main figure, as a ratio if possible, since clients do not share all wires. Without figures
 * last.
 */
function placeOf({ figures: [main] }: Workload, rows: readonly Row[]): number {
  if (!main) return 0
  const values = rows
    .map((row) => (main.ratio ? row.ratios[main.key] : undefined) ?? row.figures[main.key]?.median)
    .filter((value) => value !== undefined)
  if (values.length === 0) return Number.POSITIVE_INFINITY
  const missing = rows.length - values.length
  return (
    values.reduce((sum, value) => sum + Math.log(Math.max(value, 1e-3)), 0) / values.length + missing * 100
  )
}

function cellOf(row: Row | undefined, { key, unit, ratio }: Figure): string {
  if (!row || row.state === 'left-out') return '–'
  if (row.state === 'over') return row.reason ?? ''
  if (row.state === 'failed') return 'failed'
  const spread = row.figures[key]
  if (!spread) return '–'
  const range = spread.values.length > 1 ? ` (${number(spread.low)}–${number(spread.high)})` : ''
  const against = ratio ? row.ratios[key] : undefined
  return `${withUnit(spread.median, unit)}${range}${against === undefined ? '' : ` ${times(against)}`}`
}

/** The main figure on each wire, the ratios of others, and the mean of the rest. */
function wireColumns(main: Figure, others: readonly Figure[], rows: readonly Row[]): Columns {
  const wires: Wire[] = allWires.filter((wire) => rows.some((row) => row.wire === wire))
  const more = others.filter((figure) => isThere(figure, rows))
  return {
    head: [...wires.map((wire) => `${main.label}, ${wire}`), ...more.map(({ label }) => label)],
    wires: false,
    cells: (group) => [
      ...wires.map((wire) =>
        cellOf(
          group.find((row) => row.wire === wire),
          main,
        ),
      ),
      ...more.map(({ key, unit, ratio }) => {
        if (ratio) return ratiosCell(key, wires, group)
        const values = group.flatMap((row) => row.figures[key]?.median ?? [])
        return values.length > 0 ? withUnit(mean(values), unit) : '–'
      }),
    ],
  }
}

/** In the order of the wires. */
function ratiosCell(key: string, wires: readonly Wire[], group: readonly Row[]): string {
  const ratios = wires.map((wire) => group.find((row) => row.wire === wire)?.ratios[key])
  if (ratios.every((ratio) => ratio === undefined)) return '–'
  return `${ratios.map((ratio) => (ratio === undefined ? '–' : number(ratio))).join(' / ')} ×`
}

const isThere = ({ key }: Figure, rows: readonly Row[]) => rows.some((row) => row.figures[key] !== undefined)

function figureColumns({ figures }: Workload, rows: readonly Row[]): Columns {
  const there = figures.filter((figure) => isThere(figure, rows))
  return {
    head: there.map(({ label }) => label),
    wires: true,
    cells: (group) => there.map((figure) => cellOf(group[0], figure)),
  }
}

/**
 * The main figure of each size, the growth to the largest size, and the other figures of the
 * largest.
 */
function caseColumns({ figures: [main, ...others] }: Workload, rows: readonly Row[]): Columns {
  const cases = [...new Set(rows.map((row) => row.case))]
  const [last, before] = cases.toReversed()
  const grown = before === undefined ? [] : [`${last} / ${before}`]
  const more = others.filter((figure) => isThere(figure, rows))
  return {
    head: [
      ...cases.map((name) => `${main?.label}, ${name}`),
      ...grown,
      ...more.map(({ label }) => `${label}, ${last}`),
    ],
    wires: true,
    cells(group) {
      if (!main) return []
      const find = (name = '') => group.find((row) => row.case === name)
      const value = (name?: string) => find(name)?.figures[main.key]?.median ?? Number.NaN
      const growth = value(last) / value(before)
      return [
        ...cases.map((name) => cellOf(find(name), main)),
        ...grown.map(() => (Number.isFinite(growth) ? times(growth) : '–')),
        ...more.map((figure) => cellOf(find(last), figure)),
      ]
    },
  }
}

function notesOf(results: Results, rows: readonly Row[]): string[] {
  const notes = rows.flatMap(({ client, wire, state, reason }) => {
    const label = results.clients[client]?.label ?? client
    if (state === 'failed') return [`${label} (${wire}) failed: ${reason}`]
    return state === 'left-out' ? [`${label}: left out, ${reason}`] : []
  })
  return [...new Set(notes)]
}
