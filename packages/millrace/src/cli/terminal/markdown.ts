import { markdownParser } from '../../view/markdown/index.ts'
import { ansiSink } from './ansi-sink.ts'
import { layRows } from './rows.ts'
import { painter, style } from './style.ts'

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

export function markdown({ width, colour }: MarkdownOptions): Markdown {
  const paint = painter(colour)
  if (!colour) return asWritten(width)
  const sink = ansiSink(width)
  const parser = markdownParser(sink)
  return {
    push: parser.write,
    end: parser.end,
    take: () => sink.take().map(paint),
    live: () => sink.live(parser.held).map(paint),
  }
}

function asWritten(width: () => number): Markdown {
  const rows = layRows(width)
  const paint = painter(false)
  let isOpen = false
  return {
    push(delta) {
      rows.add(delta, style.plain)
      if (delta) isOpen = !delta.endsWith('\n')
    },
    end() {
      if (isOpen) rows.end()
      isOpen = false
    },
    take: () => rows.take().map(paint),
    live: () => (isOpen ? rows.unfinished().map(paint) : []),
  }
}
