import { number, times } from '../report/format.ts'
import type { PageResults, Row, Spread, Table } from './results.ts'

interface Column {
  readonly key: string
  readonly label: string
  readonly unit: 'KB' | 'ms' | '%' | '×' | ''
  /** Whether it is held against the floor. */
  readonly ratio?: boolean
}

const columns: Readonly<Record<Table['name'], readonly Column[]>> = {
  size: [{ key: 'kb', label: 'gzipped', unit: 'KB' }],
  writing: [
    { key: 'perKb', label: 'main thread per KB', unit: 'ms', ratio: true },
    { key: 'script', label: 'of it scripts', unit: 'ms' },
    { key: 'layout', label: 'styles and layout', unit: 'ms' },
    { key: 'growth', label: 'last quarter to first', unit: '×' },
    { key: 'nodes', label: 'nodes', unit: '' },
  ],
  opening: [
    { key: 'ms', label: 'main thread', unit: 'ms', ratio: true },
    { key: 'layout', label: 'of it styles and layout', unit: 'ms' },
    { key: 'nodes', label: 'nodes', unit: '' },
    { key: 'requests', label: 'requests', unit: '' },
  ],
  following: [
    { key: 'share', label: 'main thread, of one core', unit: '%', ratio: true },
    { key: 'script', label: 'of it scripts', unit: '%' },
    { key: 'layout', label: 'styles and layout', unit: '%' },
  ],
}

const counted = (value: number) => Math.round(value).toLocaleString('en')

function cellOf(row: Row, column: Column, floor: Row | undefined): string {
  const spread = row.figures[column.key]
  if (!spread) return '–'
  const { median, low, high } = spread
  const shown = column.unit === '' ? counted : number
  const unit = column.unit === '' ? '' : column.unit === '×' ? '×' : ` ${column.unit}`
  const range = low === high ? '' : ` (${shown(low)}–${shown(high)})`
  return `${shown(median)}${unit}${range}${ratioOf(spread, column, floor)}`
}

function ratioOf({ median }: Spread, { key, ratio = false }: Column, floor: Row | undefined): string {
  const base = floor?.figures[key]?.median
  return ratio && base ? ` ${times(median / base)}` : ''
}

function cellsOf({ name, rows }: Table): string[][] {
  const floor = rows.find((row) => row.name === 'floor')
  return [
    ['', ...columns[name].map(({ label }) => label)],
    ...rows.map((row) => [row.title, ...columns[name].map((column) => cellOf(row, column, floor))]),
  ]
}

const remarksOf = ({ rows }: Table) =>
  rows.flatMap(({ title, leftOut }) => (leftOut === undefined ? [] : [`${title}: left out, ${leftOut}`]))

function about({ mode, date, node, chromium, machine, packages }: PageResults): string {
  const beside = Object.entries(packages).map(([name, version]) => `, ${name} ${version}`)
  return `A ${mode} run of ${date}, Chromium ${chromium}, Node ${node.replace('v', '')}${beside.join('')}, ${machine}.`
}

export function markdown(results: PageResults): string {
  const sections = results.tables.map((table) => {
    const [head = [], ...body] = cellsOf(table)
    const ruler = head.map((_, at) => (at === 0 ? '---' : '---:'))
    const bold = body.map((cells, at) =>
      table.rows[at]?.name === 'ours' ? cells.map((cell) => `**${cell}**`) : cells,
    )
    const lines = [head, ruler, ...bold].map((cells) => `| ${cells.join(' | ')} |`)
    const remarks = remarksOf(table).map((remark) => `\n- ${remark}`)
    return `### ${table.title}\n\n${lines.join('\n')}${remarks.length > 0 ? `\n${remarks.join('')}` : ''}`
  })
  return [about(results), ...sections].join('\n\n')
}

export function printed(results: PageResults): string {
  const sections = results.tables.map((table) => {
    const rows = cellsOf(table)
    const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((cells) => cells[at]?.length ?? 0)))
    const padded = (cell: string, at: number) =>
      at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
    const lines = rows.map((cells) => cells.map(padded).join('   '))
    return [table.title, '', ...lines, ...remarksOf(table).map((remark) => `(${remark})`)].join('\n')
  })
  return `\nThe page. ${about(results)}\n\n${sections.join('\n\n')}\n`
}

const opening = '<!-- page -->'
const closing = '<!-- /page -->'

/** The document with new results; undefined if it has no place for them. */
export function withPage(document: string, text: string): string | undefined {
  const start = document.indexOf(opening)
  const end = document.indexOf(closing)
  if (start < 0 || end < start) return undefined
  return `${document.slice(0, start + opening.length)}\n\n${text}\n\n${document.slice(end)}`
}
