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
import { fullStopEnds, goesOn } from './full-stop.ts'
import type { Passage } from './passage.ts'
import { inAddress, wordBefore } from './passage.ts'
import { goesOnAfterQuote, isTiedToQuote } from './quoted-cjk.ts'
import type { Wait } from './tape.ts'
import { characterAt } from './tape.ts'

/** What came of a stop. */
export interface Verdict {
  /** Where reading goes on. */
  readonly next: number
  /** The sentence ends there, with the space behind it. */
  readonly ends: boolean
}

/** One or more stops and what closes behind them: `?!`, `."`, `...)`. */
interface Run {
  /** Behind the stops. */
  readonly stops: number
  /** Behind everything. */
  readonly end: number
  readonly dots: number
  /** `. . .` */
  readonly spaced: boolean
  /** There is a question or an exclamation in it. */
  readonly strong: boolean
  readonly hard: boolean
  readonly closed: Closed
}

const dot = 46

/** Decides whether a sentence ends at a stop. */
export function* atStop(passage: Passage, at: number): Wait<Verdict> {
  const { tape, signs } = passage
  const run = yield* runAt(passage, at)
  const goOn = { next: run.stops, ends: false }
  const next = yield* tape.peek(run.end)
  if (next < 0) return { next: run.end, ends: true }
  if (!isSpace(next)) {
    const sheltered = signs.sheltered(at, tape.slice(at, run.end))
    const ends = !sheltered && (yield* endsWithoutSpace(passage, at, run))
    return ends ? { next: run.end, ends: true } : goOn
  }
  if (!(yield* endsBeforeSpace(passage, at, run))) return goOn
  return { next: yield* behindSpace(passage, run.end), ends: true }
}

/** CR LF stays together. */
function* behindSpace({ tape }: Passage, at: number): Wait<number> {
  return tape.code(at) === 13 && (yield* tape.peek(at + 1)) === 10 ? at + 2 : at + 1
}

function* runAt(passage: Passage, at: number): Wait<Run> {
  const { tape, signs } = passage
  let [stops, end, dots] = [at, at, 0]
  let [strong, hard, spaced] = [false, false, false]
  let closed: Closed = 'no'
  for (;;) {
    const code = yield* tape.peek(end)
    if (isStop(code) || (yield* isQuestion(passage, end))) {
      hard = kindOf(code) === kind.hardStop
      strong ||= code !== dot && code !== 0x2026
      dots += code === dot ? 1 : code === 0x2026 ? 3 : 0
      closed = 'no'
      stops = ++end
    } else if (end === stops && dots > 0 && isSpace(tape.code(at - 1)) && (yield* spacedDot(passage, end))) {
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
  if (signs.french && closed === 'no' && isSpace(tape.code(end))) {
    const after = (yield* tape.peek(end + 1)) === 0xbb ? end + 2 : 0
    if (after) [end, closed] = [after, 'quote']
  }
  return { stops, end, dots, spaced, strong, hard, closed }
}

/** The question mark of Greek, and the full stop of Armenian, as they are typed. */
export function* isQuestion({ tape }: Passage, at: number): Wait<boolean> {
  const code = tape.code(at)
  const before = tape.code(at - 1)
  if (code === 0x3b || code === 0x37e) return before >= 0x370 && before <= 0x3ff
  if (code === 0x3a) return before >= 0x530 && before <= 0x58f
  return code === 0x1361 && (before === 0x1361 || (yield* tape.peek(at + 1)) === 0x1361)
}

function* spacedDot({ tape }: Passage, at: number): Wait<boolean> {
  return tape.code(at) === 32 && (yield* tape.peek(at + 1)) === dot
}

const footnote = /^(?:\[\^?[\w,–-]{1,12}\]|【\d[^】]{0,20}】)$/
const footnoteSoFar = /^(?:\[\^?[\w,–-]{0,12}|【(?:\d[^】]{0,20})?)$/

/** Something that belongs to the sentence whose stop it follows. */
function* closingAt(
  passage: Passage,
  at: number,
  hard: boolean,
): Wait<{ readonly end: number; readonly as: Closed } | undefined> {
  const { tape, signs } = passage
  const code = yield* tape.peek(at)
  const character = yield* characterAt(tape, at)
  if (code === 0x22 && hard) return signs.closes(code) ? { end: at + 1, as: 'quote' } : undefined
  if (closingQuotes.has(code) || signs.closes(code)) {
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
    const following = yield* tape.peek(at + read.length)
    if (following < 0) return
    read += String.fromCharCode(following)
  }
  return whole.test(read) ? { end: at + read.length, as: 'no' } : undefined
}

const longestTarget = 500

/** `[Read this.](https://example.com)`: behind the target of a link that ends here; 0 if there is none. */
function* targetEnd({ tape }: Passage, at: number): Wait<number> {
  if (tape.code(at) !== 0x5d || (yield* tape.peek(at + 1)) !== 0x28) return 0
  for (let next = at + 2; next - at < longestTarget; next++) {
    const code = yield* tape.peek(next)
    if (code === 0x29) return next + 1
    if (code < 0 || code === 0x28 || isSpace(code)) break
  }
  return 0
}

const endTag = /^<(?:\/[a-z]\w{0,10}|br ?\/?)>$/i
const endTagSoFar = /^<(?:\/?|\/[a-z]\w{0,10}|b|br ?\/?)$/i

function* endsWithoutSpace(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { tape } = passage
  const code = tape.code(run.end)
  if (continuing.has(code) || marks.has(code)) return run.hard && marks.has(code)
  const before = String.fromCharCode(tape.code(at - 1))
  const after = yield* characterAt(tape, run.end)
  if (run.hard) {
    // ３．２９
    if (tape.code(at) === 0xff0e && caseOf(before) === 'digit' && caseOf(after) === 'digit') return false
    return run.closed === 'no' || !(yield* goesOnAfterQuote(passage, run.end))
  }
  if (inAddress(passage, at)) return false
  // Chinese or Japanese with the stops of Latin script: 你好!我
  if (isUnspaced(after) && (run.strong || (run.dots === 1 && isIdeographic(before)))) {
    return run.closed === 'no' || !(yield* goesOnAfterQuote(passage, run.end))
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
  const { tape } = passage
  if (run.hard) return run.closed !== 'quote' || !(yield* isTied(passage, run.end))
  if (run.strong) return yield* strongEnds(passage, at, run)
  if (run.dots === 1) {
    if (!isWordLike(tape.code(at - 1))) return run.closed === 'no' || !goesOn(yield* lookAhead(tape, run.end))
    return yield* fullStopEnds(passage, at, run.end, run.closed)
  }
  return yield* ellipsisEnds(passage, at, run)
}

function* isTied(passage: Passage, end: number): Wait<boolean> {
  return yield* isTiedToQuote(passage, yield* lookAhead(passage.tape, end))
}

const isWordLike = (code: number) => /[\p{L}\p{M}\p{N}]/u.test(String.fromCharCode(code))

/** Names with a mark in them. */
const exclaimed = /^(?:yahoo|jeopardy|joomla|kahoot|panic|oklahoma|wham|guess|which|aflac|yum|hamilton)$/i

function* strongEnds(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { tape, knowledge, small } = passage
  const ahead = yield* lookAhead(tape, run.end)
  if (ahead.type === 'dash') return !(yield* lowerBehindDash(passage, ahead))
  if (run.closed === 'quote' && (yield* isTiedToQuote(passage, ahead))) return false
  if (goesOn(ahead)) return run.closed === 'no' && small && ahead.type === 'lower'
  if (ahead.type !== 'upper' || !exclaimed.test(wordBefore(passage, at).word)) return true
  return knowledge.isStarter(yield* wordAt(tape, ahead.at))
}

/** — Стой! — крикнул он. */
function* lowerBehindDash({ tape }: Passage, { at }: Ahead): Wait<boolean> {
  return (yield* lookAhead(tape, at + 1)).type === 'lower'
}

/** What one says before one knows what to say. */
const hesitation =
  /^\P{L}*(?:well|so|um+|uh+|hm+|er+m?|oh|ah|and|but|or|because|i|yes|no|yeah|like|maybe|perhaps|okay|ok|actually|look|listen|wait)[,\s]*$/iu

/** `My name is... Bond.`: what ends with one of these is not over, whatever follows. */
const dangling = new Set(
  `i the a an to of and but or is was are were am if because my your his their our its at for from with as than i'm
  le la les un une de du des et mais est der die das ein eine und aber ist war el los una y pero es il lo e ma è и а но или`.split(
    /\s+/,
  ),
)

function* ellipsisEnds(passage: Passage, at: number, run: Run): Wait<boolean> {
  const { tape, content } = passage
  const ahead = yield* lookAhead(tape, run.end)
  if (ahead.type === 'end') return true
  if (run.spaced && run.dots <= 3) return false
  if (run.closed === 'no' && dangling.has(wordBefore(passage, at).word.toLowerCase())) return false
  if (ahead.type === 'letter') return run.dots === 4
  if (ahead.type === 'upper') {
    // The pronoun is always large: it tells nothing.
    if (run.dots === 4 || at - content > 20 || tape.code(ahead.at) !== 0x49) return true
    if (!/^I'?$/.test(yield* wordAt(tape, ahead.at, 2))) return true
    return !hesitation.test(tape.slice(content, at))
  }
  return ahead.type === 'other' && ahead.opened
}
