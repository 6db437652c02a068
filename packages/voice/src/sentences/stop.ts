import type { Ahead } from './ahead.ts'
import { lookAhead, wordAt } from './ahead.ts'
import {
  caseOf,
  closingBrackets,
  closingQuotes,
  continuing,
  isIdeographic,
  isPictograph,
  isSpace,
  isStop,
  isUnspaced,
  kind,
  kindOf,
  marks,
} from './characters.ts'
import type { Closed } from './full-stop.ts'
import { continues, fullStopEnds } from './full-stop.ts'
import type { Passage } from './passage.ts'
import { inAddress, wordBefore } from './passage.ts'
import { continuesAfterQuote, isTiedToQuote } from './quoted-cjk.ts'
import type { Wait } from './text-buffer.ts'
import { characterAt } from './text-buffer.ts'

export interface StopResult {
  /** Where reading continues. */
  readonly next: number
  /** The sentence ends there, including the space. */
  readonly ends: boolean
}

/** One or more stops with the closing marks after them: `?!`, `."`, `...)`. */
interface Run {
  /** The end of the stops. */
  readonly stops: number
  /** The end of the closing marks. */
  readonly end: number
  readonly dots: number
  /** `. . .` */
  readonly spaced: boolean
  /** It includes a question or exclamation mark. */
  readonly strong: boolean
  readonly hard: boolean
  readonly closed: Closed
}

const dot = 46

/** Decides whether a sentence ends at a stop. */
export function* atStop(passage: Passage, at: number): Wait<StopResult> {
  const { buffer, delimiters } = passage
  const run = yield* runAt(passage, at)
  const noEnd = { next: run.stops, ends: false }
  const next = yield* buffer.peek(run.end)
  if (next < 0) return { next: run.end, ends: true }
  if (!isSpace(next)) {
    const isInsideBrackets = delimiters.isInsideBrackets(at, buffer.slice(at, run.end))
    const ends = !isInsideBrackets && (yield* endsWithoutSpace(passage, at, run))
    return ends ? { next: run.end, ends: true } : noEnd
  }
  if (!(yield* endsBeforeSpace(passage, at, run))) return noEnd
  return { next: yield* afterSpace(passage, run.end), ends: true }
}

/** Keeps CR LF together. */
function* afterSpace({ buffer }: Passage, at: number): Wait<number> {
  return buffer.code(at) === 13 && (yield* buffer.peek(at + 1)) === 10 ? at + 2 : at + 1
}

function* runAt(passage: Passage, at: number): Wait<Run> {
  const { buffer, delimiters } = passage
  let [stops, end, dots] = [at, at, 0]
  let [strong, hard, spaced] = [false, false, false]
  let closed: Closed = 'no'
  for (;;) {
    const code = yield* buffer.peek(end)
    if (isStop(code) || (yield* isQuestion(passage, end))) {
      hard = kindOf(code) === kind.hardStop
      strong ||= code !== dot && code !== 0x2026
      dots += code === dot ? 1 : code === 0x2026 ? 3 : 0
      closed = 'no'
      stops = ++end
    } else if (
      end === stops &&
      dots > 0 &&
      isSpace(buffer.code(at - 1)) &&
      (yield* spacedDot(passage, end))
    ) {
      spaced = true
      end++
    } else {
      const closing = yield* closingAt(passage, end, hard)
      if (!closing) break
      if (closing.as !== 'no') closed = closing.as
      end = closing.end
    }
  }
  // `« Viens ! » dit-il.`
  if (delimiters.inFrenchQuote && closed === 'no' && isSpace(buffer.code(end))) {
    const after = (yield* buffer.peek(end + 1)) === 0xbb ? end + 2 : 0
    if (after) [end, closed] = [after, 'quote']
  }
  return { stops, end, dots, spaced, strong, hard, closed }
}

/** The Greek question mark and the Armenian and Ethiopic full stops, as people type them. */
export function* isQuestion({ buffer }: Passage, at: number): Wait<boolean> {
  const code = buffer.code(at)
  const before = buffer.code(at - 1)
  if (code === 0x3b || code === 0x37e) return before >= 0x370 && before <= 0x3ff
  if (code === 0x3a) return before >= 0x530 && before <= 0x58f
  return code === 0x1361 && (before === 0x1361 || (yield* buffer.peek(at + 1)) === 0x1361)
}

function* spacedDot({ buffer }: Passage, at: number): Wait<boolean> {
  return buffer.code(at) === 32 && (yield* buffer.peek(at + 1)) === dot
}

const footnote = /^(?:\[\^?[\w,–-]{1,12}\]|【\d[^】]{0,20}】)$/
const footnoteSoFar = /^(?:\[\^?[\w,–-]{0,12}|【(?:\d[^】]{0,20})?)$/

/** A mark that belongs to the sentence whose stop it follows. */
function* closingAt(
  passage: Passage,
  at: number,
  hard: boolean,
): Wait<{ readonly end: number; readonly as: Closed } | undefined> {
  const { buffer, delimiters } = passage
  const code = yield* buffer.peek(at)
  const character = yield* characterAt(buffer, at)
  if (code === 0x22 && hard) return delimiters.closes(code) ? { end: at + 1, as: 'quote' } : undefined
  if (closingQuotes.has(code) || delimiters.closes(code)) {
    return { end: at + 1, as: marks.has(code) ? 'no' : 'quote' }
  }
  if (closingBrackets.has(code)) return { end: (yield* targetEnd(passage, at)) || at + 1, as: 'bracket' }
  if (marks.has(code) && !hard) return { end: at + 1, as: 'no' }
  if (isPictograph(character) || (code === 0xfe0f && at > passage.start))
    return { end: at + character.length, as: 'no' }
  if (/[¹²³⁰-⁹]/.test(character)) return { end: at + 1, as: 'no' }
  if (character !== '[' && character !== '【' && character !== '<') return
  const [whole, soFar] = character === '<' ? [endTag, endTagSoFar] : [footnote, footnoteSoFar]
  let read = character
  while (soFar.test(read)) {
    const following = yield* buffer.peek(at + read.length)
    if (following < 0) return
    read += String.fromCharCode(following)
  }
  return whole.test(read) ? { end: at + read.length, as: 'no' } : undefined
}

const maxTargetLength = 500

/** `[Read this.](https://example.com)`: the end of the link target that starts here, or 0. */
function* targetEnd({ buffer }: Passage, at: number): Wait<number> {
  if (buffer.code(at) !== 0x5d || (yield* buffer.peek(at + 1)) !== 0x28) return 0
  for (let next = at + 2; next - at < maxTargetLength; next++) {
    const code = yield* buffer.peek(next)
    if (code === 0x29) return next + 1
    if (code < 0 || code === 0x28 || isSpace(code)) break
  }
  return 0
}

const endTag = /^<(?:\/[a-z]\w{0,10}|br ?\/?)>$/i
const endTagSoFar = /^<(?:\/?|\/[a-z]\w{0,10}|b|br ?\/?)$/i

function* endsWithoutSpace(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { buffer } = passage
  const code = buffer.code(run.end)
  if (continuing.has(code) || marks.has(code)) return run.hard && marks.has(code)
  const before = String.fromCharCode(buffer.code(at - 1))
  const after = yield* characterAt(buffer, run.end)
  if (run.hard) {
    // ３．２９
    if (buffer.code(at) === 0xff0e && caseOf(before) === 'digit' && caseOf(after) === 'digit') return false
    return run.closed === 'no' || !(yield* continuesAfterQuote(passage, run.end))
  }
  if (inAddress(passage, at)) return false
  // Chinese or Japanese with Latin stops: 你好!我
  if (isUnspaced(after) && (run.strong || (run.dots === 1 && isIdeographic(before)))) {
    return run.closed === 'no' || !(yield* continuesAfterQuote(passage, run.end))
  }
  if (after === '¿' || after === '¡') return true
  if (!run.strong) return false
  // What?No!
  return (
    run.closed === 'no' &&
    caseOf(after) === 'upper' &&
    /^[\p{L}\p{M}'’]+$/u.test(wordBefore(passage, at).word)
  )
}

function* endsBeforeSpace(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { buffer } = passage
  if (run.hard) return run.closed !== 'quote' || !(yield* isTied(passage, run.end))
  if (run.strong) return yield* strongEnds(passage, at, run)
  if (run.dots === 1) {
    if (!isWordLike(buffer.code(at - 1)))
      return run.closed === 'no' || !continues(yield* lookAhead(buffer, run.end))
    return yield* fullStopEnds(passage, at, run.end, run.closed)
  }
  return yield* ellipsisEnds(passage, at, run)
}

function* isTied(passage: Passage, end: number): Wait<boolean> {
  return yield* isTiedToQuote(passage, yield* lookAhead(passage.buffer, end))
}

const isWordLike = (code: number) => /[\p{L}\p{M}\p{N}]/u.test(String.fromCharCode(code))

/** Names with an exclamation or question mark. */
const exclaimed = /^(?:yahoo|jeopardy|joomla|kahoot|panic|oklahoma|wham|guess|which|aflac|yum|hamilton)$/i

function* strongEnds(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { buffer, rules, startsLower } = passage
  const ahead = yield* lookAhead(buffer, run.end)
  if (ahead.type === 'dash') return !(yield* lowerAfterDash(passage, ahead))
  if (run.closed === 'quote' && (yield* isTiedToQuote(passage, ahead))) return false
  if (continues(ahead)) return run.closed === 'no' && startsLower && ahead.type === 'lower'
  if (ahead.type !== 'upper' || !exclaimed.test(wordBefore(passage, at).word)) return true
  return rules.isStarter(yield* wordAt(buffer, ahead.at))
}

/** — Стой! — крикнул он. */
function* lowerAfterDash({ buffer }: Passage, { at }: Ahead): Wait<boolean> {
  return (yield* lookAhead(buffer, at + 1)).type === 'lower'
}

/** Hesitation before an ellipsis. */
const hesitation =
  /^\P{L}*(?:well|so|um+|uh+|hm+|er+m?|oh|ah|and|but|or|because|i|yes|no|yeah|like|maybe|perhaps|okay|ok|actually|look|listen|wait)[,\s]*$/iu

/** `My name is... Bond.`: a sentence never ends with one of these. */
const dangling = new Set(
  `i the a an to of and but or is was are were am if because my your his their our its at for from with as than i'm
  le la les un une de du des et mais est der die das ein eine und aber ist war el los una y pero es il lo e ma è и а но или`.split(
    /\s+/,
  ),
)

function* ellipsisEnds(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { buffer, content } = passage
  const ahead = yield* lookAhead(buffer, run.end)
  if (ahead.type === 'end') return true
  if (run.spaced && run.dots <= 3) return false
  if (run.closed === 'no' && dangling.has(wordBefore(passage, at).word.toLowerCase())) return false
  if (ahead.type === 'letter') return run.dots === 4
  if (ahead.type === 'upper') {
    // The pronoun is always capitalized, so it proves nothing.
    if (run.dots === 4 || at - content > 20 || buffer.code(ahead.at) !== 0x49) return true
    if (!/^I'?$/.test(yield* wordAt(buffer, ahead.at, 2))) return true
    return !hesitation.test(buffer.slice(content, at))
  }
  return ahead.type === 'other' && ahead.opened
}
