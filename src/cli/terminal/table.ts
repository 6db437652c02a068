import { readInline } from './inline.ts'
import { wrap } from './rows.ts'
import type { Span } from './style.ts'
import { style } from './style.ts'
import { widthOf } from './width.ts'

type Row = readonly Span[]
type Cell = readonly Span[]
type Align = 'left' | 'center' | 'right'

/** A column that must be narrower than this is not worth having: the table is shown as it was written. */
const narrowest = 6
const between = ' │ '

/** Aligns a table whose lines are all there. Undefined if it is none, or does not fit. */
export function layTable(lines: readonly string[], width: number): Row[] | undefined {
  const [head, delimiters, ...body] = lines.map(cellsOf)
  if (!head || !delimiters?.every((cell) => /^:?-+:?$/.test(cell)) || delimiters.length !== head.length)
    return undefined
  // GFM leaves out what stands in no column; a reader of an answer should see it.
  if (body.some((row) => row.slice(head.length).some(Boolean))) return undefined
  const aligns = delimiters.map(alignOf)
  const titles = head.map((cell) => inlineOf(cell, style.bold))
  const cells = body.map((row) => head.map((_, column) => inlineOf(row[column] ?? '', style.plain)))
  const wanted = titles.map((title, column) =>
    Math.max(1, ...[title, ...cells.map((row) => row[column] ?? [])].map(spanWidth)),
  )
  const widths = shareOut(wanted, width - between.length * (head.length - 1))
  if (!widths) return undefined
  const line = (row: readonly Cell[]) => layLine(row, widths, aligns)
  const rule = widths.map((columns) => '─'.repeat(columns)).join('─┼─')
  return [...line(titles), [{ text: rule, style: style.dim }], ...cells.flatMap(line)]
}

/** What stands between the bars. A bar behind a backslash is none. */
function cellsOf(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim())
}

function alignOf(delimiter: string): Align {
  if (!delimiter.endsWith(':')) return 'left'
  return delimiter.startsWith(':') ? 'center' : 'right'
}

function inlineOf(text: string, base: number): Cell {
  return readInline(text, { mode: 'ended', base }).spans
}

function spanWidth(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + widthOf(text.replaceAll('\t', '    ')), 0)
}

/** Each column gets what it wants, and the wide ones what is left if there is not enough. */
function shareOut(wanted: readonly number[], room: number): number[] | undefined {
  let left = room
  const widths = wanted.map(() => 0)
  const byWish = wanted.map((_, column) => column).toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0))
  for (const [turn, column] of byWish.entries()) {
    const wish = wanted[column] ?? 0
    const given = Math.min(wish, Math.floor(left / (byWish.length - turn)))
    if (given < Math.min(wish, narrowest)) return undefined
    widths[column] = given
    left -= given
  }
  return widths
}

/** One line of cells, as high as its highest. */
function layLine(cells: readonly Cell[], widths: readonly number[], aligns: readonly Align[]): Row[] {
  const columns = cells.map((cell, column) => wrap(cell, widths[column] ?? 1))
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
