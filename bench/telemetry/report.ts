import type { Wire } from '../contract.ts'
import { number } from '../report/format.ts'
import { markdownTable } from '../report/markdown.ts'
import type { Table } from '../report/tables.ts'
import { printedTable } from '../report/terminal.ts'
import type { Figure } from './figures.ts'
import type { Mode } from './size.ts'
import { sizes } from './size.ts'
import { ways } from './ways.ts'
import type { LookedAt } from './works.ts'
import { works } from './works.ts'

/** What `results.json` holds. */
export interface TelemetryResults {
  readonly version: 1
  readonly date: string
  readonly mode: Mode
  readonly sets: number
  readonly node: string
  readonly machine: string
  readonly packages: Readonly<Record<string, string>>
  readonly figures: readonly Figure[]
  readonly faults: readonly string[]
}

const percent = (part: number) => (part * 100).toFixed(1)
const signed = (part: number) => `${part < 0 ? '' : '+'}${percent(part)} %`

function cell({ cpu, more }: Figure): string {
  const own = `${number(cpu)} µs`
  return more ? `${own} ${signed(more.median)} (${percent(more.low)} to ${percent(more.high)})` : own
}

function tableOf({ name, title, unit }: LookedAt, { mode, figures }: TelemetryResults): Table | undefined {
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
        ? [`to send the metrics, which the SDK does once a minute, takes ${number(flushMs)} ms`]
        : [],
    ),
  }
}

function tablesOf(results: TelemetryResults): Table[] {
  const tables = works.flatMap((work) => tableOf(work, results) ?? [])
  const faults = results.faults.slice(0, 10)
  return tables.map((table, at) =>
    at === tables.length - 1 ? { ...table, notes: [...table.notes, ...faults] } : table,
  )
}

function about({ mode, sets, date, node, machine, packages }: TelemetryResults): string {
  const beside = Object.entries(packages).map(([name, version]) => `, ${name} ${version}`)
  return `A ${mode} run of ${date}, ${sets} sets of processes, Node ${node.replace('v', '')}${beside.join('')}, ${machine}.`
}

export const markdown = (results: TelemetryResults) =>
  [about(results), ...tablesOf(results).map(markdownTable)].join('\n\n')

export const printed = (results: TelemetryResults) =>
  `\nTelemetry. ${about(results)}\n${tablesOf(results).map(printedTable).join('')}\n`

const opening = '<!-- telemetry -->'
const closing = '<!-- /telemetry -->'

/** The page with new results; undefined if it has no place for them. */
export function withTelemetry(page: string, text: string): string | undefined {
  const start = page.indexOf(opening)
  const end = page.indexOf(closing)
  if (start < 0 || end < start) return undefined
  return `${page.slice(0, start + opening.length)}\n\n${text}\n\n${page.slice(end)}`
}
