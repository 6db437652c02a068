import type { Span } from './style.ts'
import { charWidth, emojiSelector } from './width.ts'

/** How one line of text is broken into rows of the screen. */
export interface LineShape {
  /** What its first row begins with, and all others: a bullet, a bar, an indentation. */
  readonly first?: readonly Span[]
  readonly rest?: readonly Span[]
  /** Broken wherever the row is full, not between words: code. */
  readonly anywhere?: boolean
}

export type Row = readonly Span[]

/**
 * Lays text out in rows as it comes. A full row is done with and never looked at again, so the cost of a piece of text does not
 * depend on how much came before it; and what comes of a text does not depend on the pieces it came in.
 */
export interface Rows {
  /** Begins a line. */
  begin(shape?: LineShape): void
  /** Adds to the line. A newline in it ends it and begins another that looks like its second row. */
  add(text: string, style: number): void
  /** Ends the line: its last row is done, empty or not. */
  end(): void
  /** The rows that are done, each given once. */
  take(): Row[]
  /** The row that is not, as it would be with more behind it: possibly several then. */
  unfinished(more?: Row): Row[]
}

/** More marks than this over one character are shown beside it: else a row could go on for ever. */
const mostMarks = 16

interface State {
  shape: LineShape
  row: Span[]
  rowWidth: number
  /** How much of that is what the row begins with. */
  startWidth: number
  /** There is more in the row than what it begins with, and white. */
  filled: boolean
  /** Goes to the row as a whole, once it is known to fit. */
  word: Span[]
  wordWidth: number
  last: number
  marks: number
  done: Row[]
}

/** `width` is asked for each row, since windows change. */
export function layRows(width: () => number): Rows {
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
    begin(shape = {}) {
      Object.assign(state, { shape, last: 0, marks: 0 })
      beginRow(state, shape.first)
    },
    add: (text, style) => add(state, text, style, width()),
    end() {
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
    // White that runs over the edge of a row is not seen.
    if (state.rowWidth < width) push(state, 'row', char, style, 1)
    return
  }
  if (columns === 0 && state.word.length === 0) return push(state, 'row', char, style, 0)
  // Scripts without spaces may be broken before and after each character.
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
  return ++state.marks > mostMarks ? 1 : 0
}

function makeRoom(state: State, columns: number, width: number) {
  // White that leaves no room for what comes behind it is not seen either.
  if (state.filled || (state.word.length === 0 && state.rowWidth > state.startWidth)) {
    endRow(state)
    beginRow(state, state.shape.rest)
  }
  // The word alone is too long for a row.
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

/** Lays out a text that is all there. */
export function wrap(spans: readonly Span[], width: number, shape: LineShape = {}): Row[] {
  const rows = layRows(() => width)
  rows.begin(shape)
  for (const { text, style } of spans) rows.add(text, style)
  rows.end()
  return rows.take()
}
