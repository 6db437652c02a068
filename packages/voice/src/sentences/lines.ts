import { isPictograph, isSpace, kind, kindOf } from './characters.ts'
import type { Tape, Wait } from './tape.ts'
import { characterAt } from './tape.ts'

/** What a line is, by how it begins. `text`: it goes on with what came before, or begins a paragraph. */
export interface Line {
  readonly type: 'blank' | 'text' | 'heading' | 'item' | 'fence' | 'row' | 'rule' | 'end'
  /** Behind its marks. */
  readonly content: number
  readonly indent: number
  readonly quoted: boolean
  /** Of a fence: the character, and how many of them. */
  readonly fence?: { readonly code: number; readonly length: number }
}

const code = (character: string) => character.charCodeAt(0)
const [hash, quote, pipe, equals] = [code('#'), code('>'), code('|'), code('=')]
const bullets = new Set([...'-*+'].map(code))
/** Need no space behind them: nobody means anything else by them, at the beginning of a line. */
const plainBullets = new Set([...'•‣◦▪●○■–—―⁃∙'].map(code))
const ruleMarks = new Set([...'-*_'].map(code))
const fenceMarks = new Set([...'`~'].map(code))
/** To look farther would be to wait for longer than is good. */
const farthest = 200

/** Reads the beginning of a line, as far as that is needed to know what it is. */
export function* lineAt(tape: Tape, start: number): Wait<Line> {
  let at = start
  let indent = 0
  let quoted = false
  for (; at - start < farthest; at++) {
    const found = yield* tape.peek(at)
    if (found === quote) [indent, quoted] = [0, true]
    else if (found === code('\t')) indent += 4
    else if (kindOf(found) === kind.space) indent += 1
    else break
  }
  const place = { indent, quoted }
  const first = yield* tape.peek(at)
  if (first < 0) return { type: 'end', content: at, ...place }
  if (kindOf(first) === kind.newline) return { type: 'blank', content: at, ...place }
  if (first === pipe) return { type: 'row', content: at, ...place }
  const fence = yield* fenceAt(tape, at, first)
  if (fence) return { type: 'fence', content: at, ...place, fence }
  if (yield* isRule(tape, at, first)) return { type: 'rule', content: at, ...place }
  const heading = first === hash ? yield* headingAt(tape, at) : 0
  if (heading) return { type: 'heading', content: heading, ...place }
  const item = yield* itemAt(tape, at, first)
  if (!item) return { type: 'text', content: at, ...place }
  // The code of an item may begin on its line.
  let inside = item
  while (inside - item < 4 && kindOf(yield* tape.peek(inside)) === kind.space) inside++
  const insideFence = yield* fenceAt(tape, inside, yield* tape.peek(inside))
  if (insideFence) return { type: 'fence', content: inside, ...place, fence: insideFence }
  return { type: 'item', content: item, ...place }
}

function* runAt(tape: Tape, at: number, mark: number): Wait<number> {
  let end = at
  while (end - at < farthest && (yield* tape.peek(end)) === mark) end++
  return end - at
}

function* isGap(tape: Tape, at: number): Wait<boolean> {
  const found = yield* tape.peek(at)
  return found < 0 || isSpace(found)
}

/** CommonMark 4.5: what follows a fence of backticks has none, else it is code within a line. */
function* fenceAt(tape: Tape, at: number, mark: number): Wait<Line['fence']> {
  if (!fenceMarks.has(mark)) return
  const length = yield* runAt(tape, at, mark)
  if (length < 3) return
  if (mark === code('~')) return { code: mark, length }
  for (let next = at + length; next - at < farthest; next++) {
    const found = yield* tape.peek(next)
    if (found === mark) return
    if (found < 0 || kindOf(found) === kind.newline) break
  }
  return { code: mark, length }
}

/** A rule between paragraphs, or one that makes a heading of the line above it. */
function* isRule(tape: Tape, at: number, mark: number): Wait<boolean> {
  if (!ruleMarks.has(mark) && mark !== equals) return false
  const length = yield* runAt(tape, at, mark)
  if (length < (mark === equals ? 2 : 3)) return false
  for (let next = at + length; next - at < farthest; next++) {
    const found = yield* tape.peek(next)
    if (found < 0 || kindOf(found) === kind.newline) return true
    if (kindOf(found) !== kind.space && found !== mark) return false
  }
  return false
}

function* headingAt(tape: Tape, at: number): Wait<number> {
  const length = yield* runAt(tape, at, hash)
  return length <= 6 && (yield* isGap(tape, at + length)) ? at + length : 0
}

const label = /^(?:\d{1,3}[.)]|\d{1,3}\.\)|\(?(?:\d{1,3}|[a-z])\))$/i
const labelSoFar = /^\(?(?:\d{1,3}|[a-z])?\.?\)?$/i

/** Where the text of a list's item begins; 0 if it is none. A number stays with the text: it is read aloud. */
function* itemAt(tape: Tape, at: number, first: number): Wait<number> {
  if (plainBullets.has(first)) return at + 1
  if (bullets.has(first)) return (yield* isGap(tape, at + 1)) ? at + 1 : 0
  let read = ''
  for (let next = first; next >= 0; next = yield* tape.peek(at + read.length)) {
    const longer = read + String.fromCharCode(next)
    if (!labelSoFar.test(longer)) break
    read = longer
  }
  if (label.test(read) && (yield* isGap(tape, at + read.length))) return at + read.length
  const character = yield* characterAt(tape, at)
  return isPictograph(character) ? at + character.length : 0
}
