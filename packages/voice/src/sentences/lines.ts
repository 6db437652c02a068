import { isPictograph, isSpace, kind, kindOf } from './characters.ts'
import type { TextBuffer, Wait } from './text-buffer.ts'
import { characterAt } from './text-buffer.ts'

/** The type of a line, by its start. `text` continues the previous line or starts a paragraph. */
export interface Line {
  readonly type: 'blank' | 'text' | 'heading' | 'item' | 'fence' | 'row' | 'rule' | 'end'
  /** The position after its markup. */
  readonly content: number
  readonly indent: number
  readonly quoted: boolean
  /** For a fence: its character and length. */
  readonly fence?: { readonly code: number; readonly length: number }
}

const code = (character: string) => character.charCodeAt(0)
const [hash, quote, pipe, equals] = [code('#'), code('>'), code('|'), code('=')]
const bullets = new Set([...'-*+'].map(code))
/** These need no space after them: at the start of a line they are always bullets. */
const plainBullets = new Set([...'•‣◦▪●○■–—―⁃∙'].map(code))
const ruleMarks = new Set([...'-*_'].map(code))
const fenceMarks = new Set([...'`~'].map(code))
/** A limit on the lookahead, which delays speech. */
const maxDistance = 200

/** Reads the start of a line, as far as needed to classify it. */
export function* lineAt(buffer: TextBuffer, start: number): Wait<Line> {
  let at = start
  let indent = 0
  let quoted = false
  for (; at - start < maxDistance; at++) {
    const found = yield* buffer.peek(at)
    if (found === quote) [indent, quoted] = [0, true]
    else if (found === code('\t')) indent += 4
    else if (kindOf(found) === kind.space) indent += 1
    else break
  }
  const layout = { indent, quoted }
  const first = yield* buffer.peek(at)
  if (first < 0) return { type: 'end', content: at, ...layout }
  if (kindOf(first) === kind.newline) return { type: 'blank', content: at, ...layout }
  if (first === pipe) return { type: 'row', content: at, ...layout }
  const fence = yield* fenceAt(buffer, at, first)
  if (fence) return { type: 'fence', content: at, ...layout, fence }
  if (yield* isRule(buffer, at, first)) return { type: 'rule', content: at, ...layout }
  const heading = first === hash ? yield* headingAt(buffer, at) : 0
  if (heading) return { type: 'heading', content: heading, ...layout }
  const item = yield* itemAt(buffer, at, first)
  if (!item) return { type: 'text', content: at, ...layout }
  // A code block may start on the line of a list item.
  let inside = item
  while (inside - item < 4 && kindOf(yield* buffer.peek(inside)) === kind.space) inside++
  const insideFence = yield* fenceAt(buffer, inside, yield* buffer.peek(inside))
  if (insideFence) return { type: 'fence', content: inside, ...layout, fence: insideFence }
  return { type: 'item', content: item, ...layout }
}

function* runAt(buffer: TextBuffer, at: number, mark: number): Wait<number> {
  let end = at
  while (end - at < maxDistance && (yield* buffer.peek(end)) === mark) end++
  return end - at
}

function* isGap(buffer: TextBuffer, at: number): Wait<boolean> {
  const found = yield* buffer.peek(at)
  return found < 0 || isSpace(found)
}

/** CommonMark 4.5: with backticks in the rest of the line, it is inline code and not a fence. */
function* fenceAt(buffer: TextBuffer, at: number, mark: number): Wait<Line['fence']> {
  if (!fenceMarks.has(mark)) return
  const length = yield* runAt(buffer, at, mark)
  if (length < 3) return
  if (mark === code('~')) return { code: mark, length }
  for (let next = at + length; next - at < maxDistance; next++) {
    const found = yield* buffer.peek(next)
    if (found === mark) return
    if (found < 0 || kindOf(found) === kind.newline) break
  }
  return { code: mark, length }
}

/** A thematic break, or the underline of a heading. */
function* isRule(buffer: TextBuffer, at: number, mark: number): Wait<boolean> {
  if (!ruleMarks.has(mark) && mark !== equals) return false
  const length = yield* runAt(buffer, at, mark)
  if (length < (mark === equals ? 2 : 3)) return false
  for (let next = at + length; next - at < maxDistance; next++) {
    const found = yield* buffer.peek(next)
    if (found < 0 || kindOf(found) === kind.newline) return true
    if (kindOf(found) !== kind.space && found !== mark) return false
  }
  return false
}

function* headingAt(buffer: TextBuffer, at: number): Wait<number> {
  const length = yield* runAt(buffer, at, hash)
  return length <= 6 && (yield* isGap(buffer, at + length)) ? at + length : 0
}

const label = /^(?:\d{1,3}[.)]|\d{1,3}\.\)|\(?(?:\d{1,3}|[a-z])\))$/i
const labelSoFar = /^\(?(?:\d{1,3}|[a-z])?\.?\)?$/i

/** Where the text of a list item starts, or 0. A number stays with the text: it is read aloud. */
function* itemAt(buffer: TextBuffer, at: number, first: number): Wait<number> {
  if (plainBullets.has(first)) return at + 1
  if (bullets.has(first)) return (yield* isGap(buffer, at + 1)) ? at + 1 : 0
  let read = ''
  for (let next = first; next >= 0; next = yield* buffer.peek(at + read.length)) {
    const longer = read + String.fromCharCode(next)
    if (!labelSoFar.test(longer)) break
    read = longer
  }
  if (label.test(read) && (yield* isGap(buffer, at + read.length))) return at + read.length
  const character = yield* characterAt(buffer, at)
  return isPictograph(character) ? at + character.length : 0
}
