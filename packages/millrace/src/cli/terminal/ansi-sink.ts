import type { Detail, MarkdownParser, Sink, Tag } from '../../view/markdown/index.ts'
import { cleanText } from './clean.ts'
import type { LineShape, Row } from './rows.ts'
import { layRows, wrap } from './rows.ts'
import type { Span } from './style.ts'
import { style } from './style.ts'
import type { Table } from './table.ts'
import { barredRow, barredRows, layTable } from './table.ts'

export interface AnsiSink extends Sink {
  /** The rows that will not change any more, each given once. */
  take(): Row[]
  /** The rows after those, with what the parser holds back. */
  live(held: MarkdownParser['held']): Row[]
}

interface Element {
  readonly tag: Tag | 'root'
  readonly detail: Detail
  readonly outer?: Element
  /** An emphasis that is undone loses its style and shows its mark. */
  style: number
  mark: string
  /** Of a quote or an item: what its next line begins with, and all others. */
  first: Span
  readonly rest: Span
  /** Of a list: the number of its next item. */
  next: number
}

/** A table of more rows, or longer ones, is not aligned: from there on it is shown as it comes. */
const mostTableRows = 200
const longestTableRow = 2000

const { bold, italic, strike, underline, cyan } = style
const styles: Partial<Record<Tag, number>> = {
  ...{ h1: bold | underline, h2: bold, h3: bold, h4: bold, h5: bold, h6: bold, th: bold },
  ...{ strong: bold, em: italic, s: strike, code: cyan, a: underline, pre: cyan },
}
const isInline = /^(?:strong|em|s|code|a)$/
const isLine = /^(?:p|h\d)$/
const dim = (text: string): Span => ({ text, style: style.dim })
const plain = (text: string): Span => ({ text, style: style.plain })
const styleOf = ({ style, outer }: Element): number => (outer ? style | styleOf(outer) : style)

function elementOf(tag: Tag | 'root', detail: Detail, outer?: Element): Element {
  const bullet = outer?.tag === 'ol' ? `${outer.next++}. ` : '• '
  const marker = tag === 'li' ? bullet : ''
  const rest = tag === 'quote' ? dim('│ ') : plain(' '.repeat(marker.length))
  return {
    ...{ tag, detail, mark: '', next: detail.start ?? 1, style: styles[tag as Tag] ?? style.plain },
    ...{ rest, first: marker ? { text: marker, style: cyan } : rest },
    ...(outer && { outer }),
  }
}

/** Draws Markdown in rows of a terminal. A row is done with once nothing can change it any more. */
export function ansiSink(width: () => number): AnsiSink {
  const rows = layRows(width)
  let here = elementOf('root', {})
  /** Text since an emphasis began, which may still be undone. What has no text of its own stands for the mark. */
  let pending: { readonly text?: string; readonly of: Element }[] = []
  let isLineOpen = false
  /** The table that is being collected, to be aligned when it is complete, and its open cell. */
  let table: Table | undefined
  let cell: Span[] | undefined
  let rowLength = 0

  /** Bars for quotes, room for lists. Half of a row is left for words: of many containers the innermost are shown. */
  function shapeOf(...inner: Span[]): Required<Pick<LineShape, 'first' | 'rest'>> {
    const shape = { first: [...inner], rest: [...inner] }
    let left = Math.floor(width() / 2)
    for (let at: Element | undefined = here; at; at = at.outer) {
      if (at.rest.text === '') continue
      left -= at.rest.text.length
      if (left < 0 && shape.rest.length > inner.length) break
      shape.first.unshift(at.first)
      shape.rest.unshift(at.rest)
    }
    return shape
  }

  function beginLine(shape: LineShape = shapeOf()): void {
    rows.begin(shape)
    for (let at: Element | undefined = here; at; at = at.outer) at.first = at.rest
    isLineOpen = true
  }

  function endLine(): void {
    if (isLineOpen) rows.end()
    isLineOpen = false
  }

  function add(...spans: readonly Span[]): void {
    if (cell) cell.push(...spans)
    else for (const { text, style } of spans) rows.add(text, style)
  }

  function drawLine(...spans: readonly Span[]): void {
    beginLine()
    add(...spans)
    endLine()
  }

  const pendingSpans = () => pending.map(({ text, of }) => ({ text: text ?? of.mark, style: styleOf(of) }))

  function drawPending(): void {
    if (isInline.test(here.tag)) return
    add(...pendingSpans())
    pending = []
  }

  function write(text: string): void {
    if (text === '') return
    if (!isLineOpen && here.tag === 'pre') beginLine({ ...shapeOf(dim('│ ')), anywhere: true })
    // An entity may stand for what a terminal would obey.
    pending.push({ text: cleanText(text), of: here })
    drawPending()
    growRow(text.length)
  }

  function drawTable(): void {
    if (!table) return
    const room = shapeOf().rest.reduce((left, { text }) => left - text.length, width())
    for (const row of layTable(table, room)) drawLine(...row)
    table = undefined
  }

  function growRow(size: number): void {
    rowLength += size
    if (!table || rowLength <= longestTableRow) return
    const row = barredRow(table.rows.pop() ?? [], cell)
    cell = undefined
    drawTable()
    beginLine()
    add(...row)
  }

  function openRow(): void {
    rowLength = 0
    if (table) table.rows.push([])
    else {
      beginLine()
      add(plain('|'))
    }
  }

  function openCell(): void {
    growRow(3)
    cell = table && []
    if (cell) table?.rows.at(-1)?.push(cell)
    else add(plain(' '))
  }

  function begin({ tag, detail }: Element): void {
    if (isInline.test(tag)) pending.push({ of: here })
    else if (isLine.test(tag)) beginLine()
    else if (tag === 'pre') drawLine(dim(`┌── ${detail.info ?? ''}`.trimEnd()))
    else if (tag === 'hr') drawLine(dim('─'.repeat(Math.min(width(), 40))))
    else if (tag === 'table') table = { rows: [], aligns: [] }
    else if (tag === 'head' || tag === 'row') openRow()
    else if (tag === 'th' || tag === 'td') openCell()
    if (tag === 'th') table?.aligns.push(detail.align ?? 'left')
  }

  function finish(element: Element): void {
    const { tag, detail } = element
    if (isLine.test(tag)) endLine()
    else if (tag === 'table') drawTable()
    else if (tag === 'br') write('\n')
    else if (tag === 'task') write(detail.done ? '[x] ' : '[ ] ')
    else if (tag === 'pre') {
      endLine()
      drawLine(dim('└──'))
    } else if (tag === 'head' || tag === 'row') {
      endLine()
      if (table && table.rows.length >= mostTableRows) drawTable()
    } else if (tag === 'th' || tag === 'td') {
      cell = undefined
      if (!table) add(plain(' |'))
    } else if (tag === 'a') {
      const start = pending.findIndex(({ of }) => of === element)
      const words = pending.slice(start).reduce((all, { text = '' }) => all + text, '')
      // What the words of a link say proves nothing.
      const isSaid = detail.href === words || detail.href === `${words}/`
      if (!isSaid)
        pending.push({ text: ` (${detail.href})`, of: { ...element, outer: here, style: style.dim } })
    }
  }

  return {
    open(tag, detail = {}) {
      here = elementOf(tag, detail, here)
      begin(here)
    },
    text: write,
    close() {
      // An empty item has no line yet.
      if (here.first !== here.rest) drawLine()
      const left = here
      here = here.outer ?? here
      finish(left)
      drawPending()
    },
    undo(mark) {
      Object.assign(here, { style: style.plain, mark })
      here = here.outer ?? here
      drawPending()
    },
    loosen() {},
    blank: () => drawLine(),
    take: rows.take,
    live({ text, line }) {
      const next = line ? wrap([dim(line)], width()) : []
      const [, ticks, words = ''] = /^(`*)(.*)$/s.exec(text) ?? []
      // What began as code most likely is.
      const more = [...pendingSpans(), { text: words, style: styleOf(here) | (ticks ? cyan : style.plain) }]
      if (!table) return isLineOpen ? [...rows.unfinished(more), ...next] : next
      return [...barredRows(table, cell, more).flatMap((row) => wrap(row, width(), shapeOf())), ...next]
    },
  }
}
