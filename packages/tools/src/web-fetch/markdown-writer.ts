/** Writes Markdown piece by piece. White space goes as in a browser: it separates, and is never more than one space. */
export interface MarkdownWriter {
  text(data: string): void
  /** As it is, on the current line. */
  mark(data: string): void
  /** Whole lines, as they are. */
  lines(data: string): void
  /** What comes next begins a new line (1), or one after an empty line (2). Inside one line it is a space. */
  gap(lines: 1 | 2): void
  /** Stands before what comes next, if that is on the same line. */
  separator(data: string): void
  /** Writes around what comes until it is closed; nothing if nothing comes. */
  span(open: string, close: string): () => void
  /** Until it is closed, everything stays on one line; in a cell of a table, whose sides are not to be mistaken, too. */
  oneLine(options?: { cell?: boolean }): () => void
  /** Until it is closed, each line begins with this. */
  margin(first: string, others: string): () => void
  readonly isOneLine: boolean
  /** Nothing more is taken. */
  readonly isFull: boolean
  /** How many pieces and characters there are so far. */
  place(): Place
  /** What was written between two places. */
  between(from: Place, to: Place): string
}

export interface Place {
  readonly pieces: number
  readonly characters: number
}

/** Deeper margins are not written: a page of nothing but `<ul><li>` would grow with the square of its size. */
const widestMargin = 8

/** Ends by itself after `limit` characters: a long `<base>` before many links makes much out of little. */
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
  const begin = () => {
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
      begin()
      push(trimmed)
      if (words.endsWith(' ')) between = ' '
    },
    mark(data) {
      between = ''
      begin()
      push(data)
    },
    lines(data) {
      gap = gap || 1
      for (const line of data.split('\n')) {
        begin()
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
      // Spans are closed in turn: those that have nothing in them yet are the last ones opened.
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
      if (lineDepth > 0 || margins.length === widestMargin) return () => {}
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
    place: () => ({ pieces: pieces.length, characters }),
    between: (from, to) => pieces.slice(from.pieces, to.pieces).join('').trim(),
  }
  return writer
}
