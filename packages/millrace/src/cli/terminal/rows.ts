import type { Span } from './style.ts'
import { charWidth, emojiSelector } from './width.ts'

/** How a line of text is wrapped into rows. */
export interface LineShape {
  /** The prefix of the first row, and of all others: a bullet, a bar, an indentation. */
  readonly first?: readonly Span[]
  readonly rest?: readonly Span[]
  /** Wraps at the exact width, not between words. For code. */
  readonly anywhere?: boolean
}

export type Row = readonly Span[]

/**
 * Wraps streaming text into rows. A full row is finished and never changes, so the cost of a piece of
 * text does not depend on the text before it. The result does not depend on the pieces.
 */
export interface Rows {
  /** Starts a line. */
  startLine(shape?: LineShape): void
  /** Adds to the line. A newline ends it and starts another with the prefix `rest`. */
  add(text: string, style: number): void
  /** Ends the line. Its last row is finished, even if it is empty. */
  endLine(): void
  /** Returns the finished rows, each once. */
  take(): Row[]
  /** The unfinished row with `more` appended, which may be several rows. */
  unfinished(more?: Row): Row[]
}

/** Further combining marks on one character take a column each, or a row might never end. */
const maxMarks = 16

interface State {
  shape: LineShape
  row: Span[]
  rowWidth: number
  /** The width of the prefix. */
  startWidth: number
  /** The row has more than its prefix and spaces. */
  filled: boolean
  /** Moved to the row as a whole, once it is known to fit. */
  word: Span[]
  wordWidth: number
  last: number
  marks: number
  done: Row[]
}

/** `width` is called for each row, since windows are resized. */
export function rowBuilder(width: () => number): Rows {
  const state: State = {
    shape: {},
    row: [],
    rowWidth: 0,
    startWidth: 0,
    filled: false,
    word: [],
    wordWidth: 0,
    last: 0,
    marks: 0,
    done: [],
  }

  return {
    startLine(shape = {}) {
      Object.assign(state, { shape, last: 0, marks: 0 })
      beginRow(state, shape.first)
    },
    add: (text, style) => add(state, text, style, width()),
    endLine() {
      endWord(state)
      endRow(state)
    },
    take: () => state.done.splice(0),
    unfinished(more = []) {
      const copy = { ...state, row: copyOf(state.row), word: copyOf(state.word), done: [] as Row[] }
      for (const { text, style } of more) add(copy, text, style, width())
      endWord(copy)
      return [...copy.done, copy.row]
    },
  }
}

function add(state: State, text: string, style: number, width: number) {
  for (const char of text) {
    if (char === '\n') {
      endWord(state)
      endRow(state)
      Object.assign(state, { last: 0, marks: 0 })
      beginRow(state, state.shape.rest)
    } else if (char === '\t') for (let count = 0; count < 4; count++) addChar(state, ' ', style, width)
    else addChar(state, char, style, width)
  }
}

function addChar(state: State, char: string, style: number, width: number) {
  const columns = columnsOf(state, char)
  if (char === ' ' && !state.shape.anywhere) {
    endWord(state)
    // Spaces beyond the edge are dropped.
    if (state.rowWidth < width) push(state, 'row', char, style, 1)
    return
  }
  if (columns === 0 && state.word.length === 0) return push(state, 'row', char, style, 0)
  // Scripts without spaces wrap before and after each character.
  if (columns === 2) endWord(state)
  if (state.rowWidth + state.wordWidth + columns > width) makeRoom(state, columns, width)
  push(state, 'word', char, style, columns)
  if (columns === 2 || state.shape.anywhere) endWord(state)
}

function columnsOf(state: State, char: string): number {
  const own = charWidth(char)
  if (own > 0) {
    state.last = own
    state.marks = 0
    return own
  }
  if (char === emojiSelector && state.last === 1) return 1
  return ++state.marks > maxMarks ? 1 : 0
}

function makeRoom(state: State, columns: number, width: number) {
  // Spaces that leave no room for the next character are dropped too.
  if (state.filled || (state.word.length === 0 && state.rowWidth > state.startWidth)) {
    endRow(state)
    beginRow(state, state.shape.rest)
  }
  // The word alone is longer than a row.
  if (state.word.length > 0 && state.rowWidth + state.wordWidth + columns > width) {
    endWord(state)
    endRow(state)
    beginRow(state, state.shape.rest)
  }
}

function push(state: State, where: 'row' | 'word', char: string, style: number, columns: number) {
  append(state[where], char, style)
  if (where === 'row') state.rowWidth += columns
  else state.wordWidth += columns
}

function append(spans: Span[], text: string, style: number) {
  const last = spans.at(-1)
  if (last?.style === style) spans[spans.length - 1] = { text: last.text + text, style }
  else spans.push({ text, style })
}

function endWord(state: State) {
  if (state.word.length === 0) return
  const [first, ...others] = state.word
  if (first) append(state.row, first.text, first.style)
  state.row.push(...others)
  state.rowWidth += state.wordWidth
  state.word = []
  state.wordWidth = 0
  state.filled = true
}

function beginRow(state: State, prefix: readonly Span[] = []) {
  state.row = copyOf(prefix)
  state.rowWidth = 0
  for (const { text } of prefix) for (const char of text) state.rowWidth += charWidth(char)
  state.startWidth = state.rowWidth
  state.filled = false
}

function endRow(state: State) {
  state.done.push(trimEnd(state.row))
  beginRow(state)
}

function trimEnd(row: readonly Span[]): Row {
  const kept = copyOf(row)
  for (let last = kept.at(-1); last; last = kept.at(-1)) {
    const text = last.text.trimEnd()
    kept.pop()
    if (!text) continue
    kept.push({ ...last, text })
    break
  }
  return kept
}

function copyOf(spans: readonly Span[]): Span[] {
  return [...spans]
}

/** Wraps a complete text. */
export function wrap(spans: readonly Span[], width: number, shape: LineShape = {}): Row[] {
  const rows = rowBuilder(() => width)
  rows.startLine(shape)
  for (const { text, style } of spans) rows.add(text, style)
  rows.endLine()
  return rows.take()
}
