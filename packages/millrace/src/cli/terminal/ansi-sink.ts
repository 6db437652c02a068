import type { Detail, MarkdownParser, Sink, Tag } from '../../view/markdown/index.ts'
import { cleanText } from './clean.ts'
import type { LineShape, Row } from './rows.ts'
import { rowBuilder, wrap } from './rows.ts'
import type { Span } from './style.ts'
import { style } from './style.ts'
import type { Table } from './table.ts'
import { alignTable, barredRow, barredRows } from './table.ts'

export interface AnsiSink extends Sink {
  /** Returns the finished rows, each once. */
  take(): Row[]
  /** The unfinished rows, with the text that the parser holds back. */
  live(held: MarkdownParser['held']): Row[]
}

interface Element {
  readonly tag: Tag | 'root'
  readonly detail: Detail
  readonly outer?: Element
  /** Emphasis that turns out to be plain text loses its style and shows its mark. */
  style: number
  mark: string
  /** The prefix of the next line of a quote or item, and of all further ones. */
  first: Span
  readonly rest: Span
  /** The number of the next item of a list. */
  next: number
}

/** A table with more or longer rows is not aligned: the rest is shown as it streams. */
const maxTableRows = 200
const maxTableRowChars = 2000

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

/** Renders Markdown as terminal rows. A row is finished once nothing can change it. */
export function ansiSink(width: () => number): AnsiSink {
  const rows = rowBuilder(width)
  let here = elementOf('root', {})
  /** Text since emphasis opened, which may still be undone. An entry without text is the mark. */
  let pending: { readonly text?: string; readonly of: Element }[] = []
  let isLineOpen = false
  /** The current table, which is aligned when it is complete, and its open cell. */
  let table: Table | undefined
  let cell: Span[] | undefined
  let rowLength = 0

  /**
   * Bars for quotes, indentation for lists. Half of the row is left for text: of deeply nested
   * containers only the innermost are shown.
   */
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
    rows.startLine(shape)
    for (let at: Element | undefined = here; at; at = at.outer) at.first = at.rest
    isLineOpen = true
  }

  function endLine(): void {
    if (isLineOpen) rows.endLine()
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
    // An entity may decode to a control character.
    pending.push({ text: cleanText(text), of: here })
    drawPending()
    growRow(text.length)
  }

  function drawTable(): void {
    if (!table) return
    const room = shapeOf().rest.reduce((left, { text }) => left - text.length, width())
    for (const row of alignTable(table, room)) drawLine(...row)
    table = undefined
  }

  function growRow(size: number): void {
    rowLength += size
    if (!table || rowLength <= maxTableRowChars) return
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

  function openElement({ tag, detail }: Element): void {
    if (isInline.test(tag)) pending.push({ of: here })
    else if (isLine.test(tag)) beginLine()
    else if (tag === 'pre') drawLine(dim(`┌── ${detail.info ?? ''}`.trimEnd()))
    else if (tag === 'hr') drawLine(dim('─'.repeat(Math.min(width(), 40))))
    else if (tag === 'table') table = { rows: [], aligns: [] }
    else if (tag === 'head' || tag === 'row') openRow()
    else if (tag === 'th' || tag === 'td') openCell()
    if (tag === 'th') table?.aligns.push(detail.align ?? 'left')
  }

  function closeElement(element: Element): void {
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
      if (table && table.rows.length >= maxTableRows) drawTable()
    } else if (tag === 'th' || tag === 'td') {
      cell = undefined
      if (!table) add(plain(' |'))
    } else if (tag === 'a') {
      const start = pending.findIndex(({ of }) => of === element)
      const linkText = pending.slice(start).reduce((all, { text = '' }) => all + text, '')
      // The text of a link may show a different URL.
      const isShown = detail.href === linkText || detail.href === `${linkText}/`
      if (!isShown)
        pending.push({ text: ` (${detail.href})`, of: { ...element, outer: here, style: style.dim } })
    }
  }

  return {
    open(tag, detail = {}) {
      here = elementOf(tag, detail, here)
      openElement(here)
    },
    text: write,
    close() {
      // An empty item has no line yet.
      if (here.first !== here.rest) drawLine()
      const left = here
      here = here.outer ?? here
      closeElement(left)
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
      const [, ticks, rest = ''] = /^(`*)(.*)$/s.exec(text) ?? []
      // An open backtick most likely starts code.
      const more = [...pendingSpans(), { text: rest, style: styleOf(here) | (ticks ? cyan : style.plain) }]
      if (!table) return isLineOpen ? [...rows.unfinished(more), ...next] : next
      return [...barredRows(table, cell, more).flatMap((row) => wrap(row, width(), shapeOf())), ...next]
    },
  }
}
