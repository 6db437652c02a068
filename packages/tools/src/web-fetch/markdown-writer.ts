/** Writes Markdown piece by piece. Collapses white space to single spaces, as browsers do. */
export interface MarkdownWriter {
  text(data: string): void
  /** Writes raw text on the current line. */
  mark(data: string): void
  /** Writes raw lines. */
  lines(data: string): void
  /**
   * Starts a new line (1), or a new paragraph (2), before the next text. In one-line mode it is a
   * space.
   */
  gap(lines: 1 | 2): void
  /** Written before the next text, if that is on the same line. */
  separator(data: string): void
  /** Wraps text until closed; writes nothing if there is no text. */
  span(open: string, close: string): () => void
  /** Keeps everything on one line until closed; in a table `cell` also escapes `|`. */
  oneLine(options?: { cell?: boolean }): () => void
  /** Prefixes each line until closed. */
  margin(first: string, others: string): () => void
  readonly isOneLine: boolean
  /** The limit is reached; further text is ignored. */
  readonly isFull: boolean
  /** The current position. */
  position(): Position
  /** The text between two positions. */
  between(from: Position, to: Position): string
}

export interface Position {
  readonly pieces: number
  readonly characters: number
}

/** Deeper margins are not written: a page of nested `<ul><li>` would grow quadratically. */
const maxMargins = 8

/** Stops after `limit` characters: a long `<base>` with many links can expand a small page. */
export function markdownWriter(limit: number): MarkdownWriter {
  const pieces: string[] = []
  let characters = 0
  let gap: 0 | 1 | 2 = 0
  let between = ''
  let lineDepth = 0
  let inCell = false
  const openers: string[] = []
  const margins: { first: string | undefined; readonly others: string }[] = []

  const push = (piece: string) => {
    if (!piece || writer.isFull) return
    pieces.push(piece)
    characters += piece.length
  }
  const startText = () => {
    if (gap > 0 || pieces.length === 0) {
      if (pieces.length > 0) push(gap === 2 ? `\n${emptyLine()}\n` : '\n')
      push(lineStart())
    } else if (!pieces.at(-1)?.endsWith(' ')) push(between)
    for (const opener of openers) push(opener)
    gap = 0
    between = ''
    openers.length = 0
  }
  const emptyLine = () =>
    margins
      .filter(({ first }) => first === undefined)
      .map(({ others }) => others)
      .join('')
      .trimEnd()
  const lineStart = () =>
    margins
      .map((margin) => {
        const { first = margin.others } = margin
        margin.first = undefined
        return first
      })
      .join('')

  const writer: MarkdownWriter = {
    text(data) {
      const words = (inCell ? data.replaceAll('|', '\\|') : data).replace(/\s+/g, ' ')
      const trimmed = words.trim()
      if (words.startsWith(' ')) between ||= ' '
      if (!trimmed) return
      startText()
      push(trimmed)
      if (words.endsWith(' ')) between = ' '
    },
    mark(data) {
      between = ''
      startText()
      push(data)
    },
    lines(data) {
      gap = gap || 1
      for (const line of data.split('\n')) {
        startText()
        push(line)
        gap = 1
      }
    },
    gap(lines) {
      if (lineDepth > 0) between ||= ' '
      else if (lines > gap) gap = lines
    },
    separator(data) {
      between = data
    },
    span(open, close) {
      openers.push(open)
      // Spans are closed in reverse order, so empty ones are the last opened.
      return () => {
        if (openers.length > 0) openers.pop()
        else push(close)
      }
    },
    oneLine({ cell = inCell } = {}) {
      const outside = inCell
      inCell = cell
      lineDepth++
      return () => {
        inCell = outside
        lineDepth--
      }
    },
    margin(first, others) {
      if (lineDepth > 0 || margins.length === maxMargins) return () => {}
      margins.push({ first, others })
      return () => {
        margins.pop()
      }
    },
    get isOneLine() {
      return lineDepth > 0
    },
    get isFull() {
      return characters >= limit
    },
    position: () => ({ pieces: pieces.length, characters }),
    between: (from, to) => pieces.slice(from.pieces, to.pieces).join('').trim(),
  }
  return writer
}
