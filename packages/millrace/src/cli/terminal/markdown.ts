import { markdownParser } from '../../view/markdown/index.ts'
import { ansiSink } from './ansi-sink.ts'
import { rowBuilder } from './rows.ts'
import { painter, style } from './style.ts'

export interface MarkdownOptions {
  /** The maximum width, called for each row. */
  readonly width: () => number
  /** Without color the text is shown as it was written. */
  readonly color: boolean
}

/**
 * Renders streaming Markdown for a terminal. The result depends only on the text, not on its deltas.
 * The cost of a delta does not depend on the text before it. Only marks are left out, and nothing
 * moves. The text must be clean.
 */
export interface Markdown {
  push(delta: string): void
  end(): void
  /** Returns the finished rows, each once. */
  take(): string[]
  /** The unfinished rows so far. */
  live(): string[]
}

export function markdown({ width, color }: MarkdownOptions): Markdown {
  const paint = painter(color)
  if (!color) return plainText(width)
  const sink = ansiSink(width)
  const parser = markdownParser(sink)
  return {
    push: parser.write,
    end: parser.end,
    take: () => sink.take().map(paint),
    live: () => sink.live(parser.held).map(paint),
  }
}

function plainText(width: () => number): Markdown {
  const rows = rowBuilder(width)
  const paint = painter(false)
  let isOpen = false
  return {
    push(delta) {
      rows.add(delta, style.plain)
      if (delta) isOpen = !delta.endsWith('\n')
    },
    end() {
      if (isOpen) rows.endLine()
      isOpen = false
    },
    take: () => rows.take().map(paint),
    live: () => (isOpen ? rows.unfinished().map(paint) : []),
  }
}
