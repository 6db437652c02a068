import { blockAt } from './blocks.ts'
import { breath } from './breath.ts'
import { caseOf, clauseMarks, kind, kindOf } from './characters.ts'
import type { Cut, CutAt } from './cut.ts'
import { languageGuess } from './guess.ts'
import { knowledge } from './languages/index.ts'
import type { Line } from './lines.ts'
import { lineAt } from './lines.ts'
import type { Passage } from './passage.ts'
import { inAddress } from './passage.ts'
import type { SentenceSettings } from './sentence-options.ts'
import { signs } from './signs.ts'
import { skipper } from './skip.ts'
import { atStop, isQuestion } from './stop.ts'
import type { Tape } from './tape.ts'
import { characterAt } from './tape.ts'
import { endsAtThaiSpace } from './thai.ts'

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

const asterisk = 42
const colon = 58

/** Reads a text and gives the ends of its sentences; nothing whenever it needs more of it. */
export function* scan(tape: Tape, settings: SentenceSettings): Generator<Cut | undefined, void, undefined> {
  const { maxChars } = settings
  const guess = languageGuess(settings.language)
  const breathing = breath(maxChars)
  const open = signs()
  const hiding = skipper(tape)
  let at = tape.start
  /** Where a line begins that has not been looked at; -1 within one. */
  let newLine = at
  let lineContent = at
  let line: Pick<Line, 'type' | 'quoted'> = { type: 'end', quoted: false }
  let inList = false
  let boldLine = false
  let lettered = false
  /** The last code, comment, tag or target of a link. */
  let hidden = { from: at, to: at }

  const passage: Writable<Passage> = {
    tape,
    signs: open,
    get language() {
      return guess.language
    },
    get knowledge() {
      return knowledge(guess.language)
    },
    start: at,
    content: -1,
    ownLine: true,
    small: false,
    marker: undefined,
    token: at,
    colon: -1,
  }

  /** The sentence ends before a place. Space alone is none: it goes with what follows. */
  const cut: CutAt = function* (end, form = 'text') {
    if (passage.content < 0 && form === 'text') return
    const { start, ownLine } = passage
    const label = /^\W*(\d{1,3})[.)]/.exec(tape.slice(start, Math.min(end, start + 12)))
    passage.marker = label ? Number(label[1]) : undefined
    passage.start = end
    passage.content = -1
    passage.ownLine = kindOf(tape.code(end - 1)) === kind.newline
    passage.small = false
    lettered = false
    open.endSentence()
    yield { end, form, ownLine, language: guess.language }
  }

  function endWord() {
    const { token } = passage
    if (at > token && at - token <= 20) guess.hear(tape.slice(token, at))
  }

  function beginToken() {
    passage.token = at
    passage.colon = -1
  }

  /** What stands at the beginning of a line decides whether the sentence goes on. */
  function* beginLine() {
    const next = yield* lineAt(tape, newLine)
    const isText = next.type === 'text'
    const inItem = isText && line.type === 'item' && next.indent >= 2
    const goesOn = inItem || (isText && line.type === 'text' && line.quoted === next.quoted && !boldLine)
    if (!goesOn && next.type !== 'end') yield* cut(newLine)
    if (next.type === 'blank') open.endParagraph()
    const isCode = isText && next.indent >= 4 && line.type === 'blank' && !inList
    const end = yield* blockAt(tape, isCode ? { ...next, type: 'code' } : next, { settings, cut, breathing })
    at = end ?? next.content
    newLine = end ?? -1
    lineContent = at
    if (next.type === 'item') inList = true
    else if (next.type === 'heading' || (isText && next.indent < 2 && line.type === 'blank')) inList = false
    const isPlain = end !== undefined || next.type === 'row'
    if (!inItem) line = { type: isPlain ? 'text' : next.type, quoted: next.quoted }
    beginToken()
  }

  function* readSpace(isNewline: boolean) {
    endWord()
    if (passage.content >= 0) {
      breathing.space(at + 1, tape.code(at - 1))
      const isOver = at - passage.start > maxChars && inAddress(passage, at)
      if (isOver || (yield* endsAtThaiSpace(passage, at))) yield* cut(at + 1)
    }
    at++
    beginToken()
    if (!isNewline) return
    const [first, last] = [lineContent, at - 2]
    const isBold = [first, first + 1, last - 1, last].every((place) => tape.code(place) === asterisk)
    boldLine = isBold && open.stars === 2
    open.endLine()
    newLine = at
  }

  function* readStop() {
    endWord()
    const { next, ends } = yield* atStop(passage, at)
    for (let place = at; place < next; place++) {
      if (kindOf(tape.code(place)) === kind.sign) open.see(tape.code(place), place, tape.code(place - 1))
    }
    at = next
    if (ends && kindOf(tape.code(at - 1)) === kind.newline) newLine = at
    // Stops alone are no sentence: they go with what follows.
    if (!ends || !lettered) return
    yield* cut(at)
    beginToken()
  }

  function* readSign(code: number) {
    const end = yield* hiding.skip(at)
    if (end) {
      hidden = { from: at, to: end }
      at = end
      return
    }
    if (code === colon && passage.colon < 0) passage.colon = at
    if (yield* isQuestion(passage, at)) return yield* readStop()
    open.see(code, at, tape.code(at - 1))
    at++
  }

  function* breathe() {
    // An address is not read out, so that it is not too long; one that is cut would be.
    if (passage.content < 0 || (passage.token <= passage.start + maxChars * 0.3 && inAddress(passage, at))) {
      return false
    }
    const end = breathing.cut(tape, passage.start, at, hidden)
    if (end === 0) return false
    yield* cut(end)
    // What is left has begun already.
    if (end < at) [passage.content, lettered] = [end, true]
    return true
  }

  for (;;) {
    if (at === newLine) {
      yield* beginLine()
      continue
    }
    if (at - passage.start > maxChars && (yield* breathe())) continue
    if (at >= tape.end) {
      if (tape.finished) break
      yield
      continue
    }
    const code = tape.code(at)
    const found = kindOf(code)
    if (found === kind.space || found === kind.newline) {
      yield* readSpace(found === kind.newline)
      continue
    }
    if (passage.content < 0) passage.content = at
    if (!lettered) {
      const first = caseOf(yield* characterAt(tape, at))
      lettered = first !== 'none'
      passage.small = first === 'lower'
    }
    if (found === kind.softStop || found === kind.hardStop) yield* readStop()
    else if (found === kind.sign) yield* readSign(code)
    else {
      at++
      if (code > 0x2fff && clauseMarks.has(code)) breathing.clause(at)
    }
  }
  endWord()
  if (tape.end > passage.start)
    yield { end: tape.end, form: 'text', ownLine: passage.ownLine, language: guess.language }
}
