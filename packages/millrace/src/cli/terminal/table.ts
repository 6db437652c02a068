import type { Row } from './rows.ts'
import { wrap } from './rows.ts'
import type { Span } from './style.ts'
import { style } from './style.ts'
import { widthOf } from './width.ts'

type Cell = Span[]
type Align = 'left' | 'center' | 'right'

export interface Table {
  /** The first row is the header. */
  readonly rows: Cell[][]
  readonly aligns: Align[]
}

/** If a column would be narrower, the table is not aligned. */
const minColumnWidth = 6
const between = ' │ '

/** Aligns a complete table. One that does not fit is written as in Markdown. */
export function alignTable(table: Table, width: number): Row[] {
  const { rows, aligns } = table
  // GFM drops cells beyond the last column; the user should see them.
  if (rows.some((row) => row.slice(aligns.length).some((cell) => spanWidth(cell) > 0)))
    return barredRows(table)
  const wanted = aligns.map((_, column) => Math.max(1, ...rows.map((row) => spanWidth(row[column] ?? []))))
  const widths = fitColumns(wanted, width - between.length * (aligns.length - 1))
  if (!widths) return barredRows(table)
  const [titles = [], ...body] = rows.map((row) => alignLine(row, widths, aligns))
  const rule = widths.map((columns) => '─'.repeat(columns)).join('─┼─')
  return [...titles, [{ text: rule, style: style.dim }], ...body.flat()]
}

/** Rows as in Markdown, with `more` at the end of the open cell. */
export function barredRows({ rows, aligns }: Table, open?: Cell, more?: Cell): Row[] {
  const [head = [], ...body] = rows.map((row) => barredRow(row, open, more))
  return [head, [plain(`|${'---|'.repeat(aligns.length)}`)], ...body]
}

export function barredRow(row: readonly Cell[], open?: Cell, more: Cell = []): Span[] {
  const cells = row.flatMap((cell) => [plain(' '), ...cell, ...(cell === open ? more : [plain(' |')])])
  return [plain('|'), ...cells]
}

const plain = (text: string): Span => ({ text, style: style.plain })

function spanWidth(spans: Row): number {
  return spans.reduce((sum, { text }) => sum + widthOf(text.replaceAll('\t', '    ')), 0)
}

/** Each column gets the width it needs; if there is not enough, the widest share the rest. */
function fitColumns(wanted: readonly number[], room: number): number[] | undefined {
  let left = room
  const widths = wanted.map(() => 0)
  const narrowestFirst = wanted
    .map((_, column) => column)
    .toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0))
  for (const [turn, column] of narrowestFirst.entries()) {
    const wantedWidth = wanted[column] ?? 0
    const given = Math.min(wantedWidth, Math.floor(left / (narrowestFirst.length - turn)))
    if (given < Math.min(wantedWidth, minColumnWidth)) return undefined
    widths[column] = given
    left -= given
  }
  return widths
}

/** One line of cells, as high as its highest cell. */
function alignLine(cells: readonly Cell[], widths: readonly number[], aligns: readonly Align[]): Row[] {
  const columns = widths.map((width, column) => wrap(cells[column] ?? [], width))
  const height = Math.max(...columns.map((rows) => rows.length))
  return Array.from({ length: height }, (_, at) =>
    columns.flatMap((rows, column) => {
      const cell = rows[at] ?? []
      const [before, after] = margins((widths[column] ?? 0) - spanWidth(cell), aligns[column] ?? 'left')
      const last = column === columns.length - 1
      return [
        { text: ' '.repeat(before), style: style.plain },
        ...cell,
        { text: last ? '' : ' '.repeat(after), style: style.plain },
        { text: last ? '' : between, style: style.dim },
      ]
    }),
  )
}

function margins(free: number, align: Align): [before: number, after: number] {
  const room = Math.max(0, free)
  if (align === 'left') return [0, room]
  const before = align === 'right' ? room : Math.floor(room / 2)
  return [before, room - before]
}
