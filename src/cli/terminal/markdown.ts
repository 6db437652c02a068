import type { Block } from './blocks.ts'
import { endsFence, readBlock } from './blocks.ts'
import { readInline } from './inline.ts'
import type { LineShape } from './rows.ts'
import { layRows, wrap } from './rows.ts'
import type { Span } from './style.ts'
import { painter, style } from './style.ts'
import { layTable } from './table.ts'

export interface MarkdownOptions {
  /** How wide a row may be, asked for each row. */
  readonly width: () => number
  /** Without it the text is shown as it was written. */
  readonly colour: boolean
}

/**
 * Renders Markdown for a terminal while it is being written. What is shown depends on the text only, not on the deltas it
 * came in; each delta costs the same, however much came before; nothing but marks is left out, and nothing changes places.
 * The text must be clean.
 */
export interface Markdown {
  push(delta: string): void
  /** There is no more. */
  end(): void
  /** The rows that will not change any more, each given once. */
  take(): string[]
  /** The rows after those, as far as they have come. */
  live(): string[]
}

/** A table of more lines, or longer ones, is shown as it was written. */
const mostTableLines = 200
const longestTableLine = 2000

export function markdown({ width, colour }: MarkdownOptions): Markdown {
  const paint = painter(colour)
  return colour ? formatted(width, paint) : asWritten(width, paint)
}

type Painter = ReturnType<typeof painter>

function asWritten(width: () => number, paint: Painter): Markdown {
  const rows = layRows(width)
  let open = false

  return {
    push(delta) {
      delta.split('\n').forEach((piece, index) => {
        if (index > 0) {
          rows.end()
          rows.begin()
          open = false
        }
        if (!piece) return
        rows.add(piece, style.plain)
        open = true
      })
    },
    end() {
      if (open) rows.end()
      open = false
    },
    take: () => rows.take().map(paint),
    live: () => (open ? rows.unfinished().map(paint) : []),
  }
}

function formatted(width: () => number, paint: Painter): Markdown {
  const rows = layRows(width)
  /** Of the line that is being read: not known yet, a row of a table, code, or words. */
  let kind: 'start' | 'row' | 'code' | 'words' = 'start'
  /** What is read of it and not laid out yet. */
  let held = ''
  let base: number = style.plain
  let before: string | undefined
  let fence: string | undefined
  let table: string[] = []

  function begin(next: 'code' | 'words', shape: LineShape, look: number) {
    endTable()
    kind = next
    base = look
    before = undefined
    rows.begin(shape)
  }

  function endTable() {
    if (table.length === 0) return
    for (const row of layTable(table, width()) ?? rawTable(table, width())) {
      rows.begin({ first: row })
      rows.end()
    }
    table = []
  }

  /** One line that is laid out whole. */
  function line(spans: readonly Span[]) {
    begin('words', {}, style.plain)
    for (const { text, style } of spans) rows.add(text, style)
    rows.end()
    kind = 'start'
  }

  function feed(piece: string, ended: boolean) {
    held += piece
    if (kind === 'start') open(ended)
    if (kind === 'row' && held.length > longestTableLine) begin('words', {}, style.plain)
    if (kind === 'code') {
      rows.add(held, base)
      held = ''
    } else if (kind === 'words') {
      const { spans, used } = readInline(held, { mode: ended ? 'ended' : 'more', base, before })
      for (const { text, style } of spans) rows.add(text, style)
      if (used > 0) before = Array.from(held.slice(Math.max(0, used - 2), used)).at(-1)
      held = held.slice(used)
    }
  }

  /** Finds out what the line is, if it can. */
  function open(ended: boolean) {
    if (fence !== undefined) {
      const over = endsFence(held, fence, ended)
      if (over === undefined) return
      if (!over) return begin('code', { anywhere: true, ...codeShape }, style.cyan)
      fence = undefined
      held = ''
      return line([{ text: '└──', style: style.dim }])
    }
    const block = readBlock(held, ended)
    if (block) openBlock(block)
  }

  function openBlock(block: Block) {
    switch (block.type) {
      case 'row':
        kind = 'row'
        return
      case 'fence':
        fence = block.fence
        held = ''
        return line([{ text: `┌── ${block.language}`.trimEnd(), style: style.dim }])
      case 'rule':
        held = ''
        return line([{ text: '─'.repeat(Math.min(width(), 40)), style: style.dim }])
      default:
        held = block.text
        begin(
          'words',
          shapeOf(block, width()),
          block.type === 'heading' ? headingLook(block.level) : style.plain,
        )
    }
  }

  function endLine() {
    feed('', true)
    if (kind === 'row') {
      table.push(held)
      held = ''
      if (table.length >= mostTableLines) endTable()
    } else if (kind !== 'start') rows.end()
    kind = 'start'
  }

  return {
    push(delta) {
      delta.split('\n').forEach((piece, index) => {
        if (index > 0) endLine()
        if (piece) feed(piece, false)
      })
    },
    end() {
      if (held || kind !== 'start') endLine()
      endTable()
      fence = undefined
    },
    take: () => rows.take().map(paint),
    live() {
      const above = rawTable(table, width())
      if (kind === 'words') {
        const { spans } = readInline(held, { mode: 'guess', base, before })
        return [...above, ...rows.unfinished(spans)].map(paint)
      }
      if (kind === 'code') return rows.unfinished().map(paint)
      return [...above, ...(held ? wrap([{ text: held, style: style.dim }], width()) : [])].map(paint)
    },
  }
}

const codeShape = {
  first: [{ text: '│ ', style: style.dim }],
  rest: [{ text: '│ ', style: style.dim }],
} as const

function headingLook(level: number): number {
  return level === 1 ? style.bold | style.underline : style.bold
}

function rawTable(lines: readonly string[], width: number): (readonly Span[])[] {
  return lines.flatMap((text) => wrap([{ text, style: style.plain }], width))
}

/** Bars for quotes, room for lists; rows after the first begin below its first word. Half of the row is left for words. */
function shapeOf(block: Exclude<Block, { type: 'fence' | 'rule' | 'row' }>, width: number): LineShape {
  const bars = { text: '│ '.repeat(Math.min(block.quotes, Math.floor(width / 4))), style: style.dim }
  if (block.type === 'heading') return { first: [bars], rest: [bars] }
  const room = Math.floor(width / 2) - bars.text.length
  const indent = ' '.repeat(Math.max(0, Math.min(block.indent, room - 2)))
  if (block.type === 'text') {
    const start = [bars, { text: indent, style: style.plain }]
    return { first: start, rest: start }
  }
  const marker = /^\d/.test(block.marker) ? block.marker : '•'
  return {
    first: [bars, { text: indent, style: style.plain }, { text: `${marker} `, style: style.cyan }],
    rest: [bars, { text: indent + ' '.repeat(marker.length + 1), style: style.plain }],
  }
}
