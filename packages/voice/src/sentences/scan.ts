import { blockAt } from './blocks.ts'
import { caseOf, clauseMarks, kind, kindOf } from './characters.ts'
import type { Cut, CutAt } from './cut.ts'
import { delimiters } from './delimiters.ts'
import { languageGuess } from './language-guess.ts'
import { languageRules } from './languages/index.ts'
import type { Line } from './lines.ts'
import { lineAt } from './lines.ts'
import type { Passage } from './passage.ts'
import { inAddress } from './passage.ts'
import type { SentenceSettings } from './sentence-options.ts'
import { skipper } from './skip.ts'
import { softBreaks } from './soft-breaks.ts'
import { atStop, isQuestion } from './stop.ts'
import type { TextBuffer } from './text-buffer.ts'
import { characterAt } from './text-buffer.ts'
import { endsAtThaiSpace } from './thai.ts'

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

const asterisk = 42
const colon = 58

/** Yields the ends of sentences, or undefined when it needs more text. */
export function* scan(
  buffer: TextBuffer,
  settings: SentenceSettings,
): Generator<Cut | undefined, void, undefined> {
  const { maxChars } = settings
  const guess = languageGuess(settings.language)
  const breaks = softBreaks(maxChars)
  const open = delimiters()
  const skipHidden = skipper(buffer)
  let at = buffer.start
  /** The start of a line that was not classified yet; -1 within a line. */
  let newLine = at
  let lineContent = at
  let line: Pick<Line, 'type' | 'quoted'> = { type: 'end', quoted: false }
  let inList = false
  let boldLine = false
  let hasLetter = false
  /** The last code span, comment, tag or link target. */
  let hidden = { from: at, to: at }

  const passage: Writable<Passage> = {
    buffer,
    delimiters: open,
    get language() {
      return guess.language
    },
    get rules() {
      return languageRules(guess.language)
    },
    start: at,
    content: -1,
    startsLine: true,
    startsLower: false,
    marker: undefined,
    token: at,
    colon: -1,
  }

  /** Ends the sentence before `end`. Space alone stays with what follows. */
  const cut: CutAt = function* (end, form = 'text') {
    if (passage.content < 0 && form === 'text') return
    const { start, startsLine } = passage
    const label = /^\W*(\d{1,3})[.)]/.exec(buffer.slice(start, Math.min(end, start + 12)))
    passage.marker = label ? Number(label[1]) : undefined
    passage.start = end
    passage.content = -1
    passage.startsLine = kindOf(buffer.code(end - 1)) === kind.newline
    passage.startsLower = false
    hasLetter = false
    open.endSentence()
    yield { end, form, startsLine, language: guess.language }
  }

  function endWord() {
    const { token } = passage
    if (at > token && at - token <= 20) guess.addWord(buffer.slice(token, at))
  }

  function startToken() {
    passage.token = at
    passage.colon = -1
  }

  /** Classifies a line by its start, which decides whether the sentence continues. */
  function* startLine() {
    const next = yield* lineAt(buffer, newLine)
    const isText = next.type === 'text'
    const inItem = isText && line.type === 'item' && next.indent >= 2
    const continues = inItem || (isText && line.type === 'text' && line.quoted === next.quoted && !boldLine)
    if (!continues && next.type !== 'end') yield* cut(newLine)
    if (next.type === 'blank') open.endParagraph()
    const isCode = isText && next.indent >= 4 && line.type === 'blank' && !inList
    const end = yield* blockAt(buffer, isCode ? { ...next, type: 'code' } : next, { settings, cut, breaks })
    at = end ?? next.content
    newLine = end ?? -1
    lineContent = at
    if (next.type === 'item') inList = true
    else if (next.type === 'heading' || (isText && next.indent < 2 && line.type === 'blank')) inList = false
    const isPlain = end !== undefined || next.type === 'row'
    if (!inItem) line = { type: isPlain ? 'text' : next.type, quoted: next.quoted }
    startToken()
  }

  function* readSpace(isNewline: boolean) {
    endWord()
    if (passage.content >= 0) {
      breaks.space(at + 1, buffer.code(at - 1))
      const isOver = at - passage.start > maxChars && inAddress(passage, at)
      if (isOver || (yield* endsAtThaiSpace(passage, at))) yield* cut(at + 1)
    }
    at++
    startToken()
    if (!isNewline) return
    const [first, last] = [lineContent, at - 2]
    const isBold = [first, first + 1, last - 1, last].every((place) => buffer.code(place) === asterisk)
    boldLine = isBold && open.stars === 2
    open.endLine()
    newLine = at
  }

  function* readStop() {
    endWord()
    const { next, ends } = yield* atStop(passage, at)
    for (let place = at; place < next; place++) {
      if (kindOf(buffer.code(place)) === kind.delimiter)
        open.add(buffer.code(place), place, buffer.code(place - 1))
    }
    at = next
    if (ends && kindOf(buffer.code(at - 1)) === kind.newline) newLine = at
    // Stops alone are not a sentence: they stay with what follows.
    if (!ends || !hasLetter) return
    yield* cut(at)
    startToken()
  }

  function* readDelimiter(code: number) {
    const end = yield* skipHidden.skip(at)
    if (end) {
      hidden = { from: at, to: end }
      at = end
      return
    }
    if (code === colon && passage.colon < 0) passage.colon = at
    if (yield* isQuestion(passage, at)) return yield* readStop()
    open.add(code, at, buffer.code(at - 1))
    at++
  }

  function* cutLong() {
    // A URL is not read out, so its length does not matter, unless it were cut.
    if (passage.content < 0 || (passage.token <= passage.start + maxChars * 0.3 && inAddress(passage, at))) {
      return false
    }
    const end = breaks.cut(buffer, passage.start, at, hidden)
    if (end === 0) return false
    yield* cut(end)
    // The rest has already been read.
    if (end < at) [passage.content, hasLetter] = [end, true]
    return true
  }

  for (;;) {
    if (at === newLine) {
      yield* startLine()
      continue
    }
    if (at - passage.start > maxChars && (yield* cutLong())) continue
    if (at >= buffer.end) {
      if (buffer.finished) break
      yield
      continue
    }
    const code = buffer.code(at)
    const found = kindOf(code)
    if (found === kind.space || found === kind.newline) {
      yield* readSpace(found === kind.newline)
      continue
    }
    if (passage.content < 0) passage.content = at
    if (!hasLetter) {
      const first = caseOf(yield* characterAt(buffer, at))
      hasLetter = first !== 'none'
      passage.startsLower = first === 'lower'
    }
    if (found === kind.softStop || found === kind.hardStop) yield* readStop()
    else if (found === kind.delimiter) yield* readDelimiter(code)
    else {
      at++
      if (code > 0x2fff && clauseMarks.has(code)) breaks.clause(at)
    }
  }
  endWord()
  if (buffer.end > passage.start)
    yield { end: buffer.end, form: 'text', startsLine: passage.startsLine, language: guess.language }
}
