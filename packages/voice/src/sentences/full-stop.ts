import type { Ahead } from './ahead.ts'
import { lookAhead, wordAt } from './ahead.ts'
import { caseOf } from './characters.ts'
import { knowledge as knowledgeOf } from './languages/index.ts'
import type { Before, Passage } from './passage.ts'
import { behindPrevious, wordBefore } from './passage.ts'
import type { Wait } from './tape.ts'

/** What the stop is followed by before the space: a quotation mark, a bracket, or nothing that matters. */
export type Closed = 'quote' | 'bracket' | 'no'

/**
 * Whether a sentence ends with a stop that has space behind it. Waits for nothing after an ordinary word; for the first
 * character of what follows where the stop may belong to the word; and for the first word where that is not enough.
 */
export function* fullStopEnds(passage: Passage, stop: number, behind: number, closed: Closed): Wait<boolean> {
  const last = wordBefore(passage, stop)
  const { word } = last
  if (isLabel(passage, last)) return false
  const ahead = () => lookAhead(passage.tape, behind)
  if (digits.test(word)) return yield* numberEnds(passage, last, yield* ahead())
  if (dayAndMonth.test(word)) return !goesOn(yield* ahead())
  const whole = joined(passage, last)
  const known = passage.knowledge.abbreviation(whole) ?? passage.knowledge.abbreviation(word)
  const kind = unitKind(passage, last) ?? known ?? partKind(passage, word) ?? phraseKind(passage, last)
  if (kind === 'title' && closed !== 'quote') return false
  if (kind === 'counted' && initial.test(word)) return yield* initialEnds(passage, last, yield* ahead())
  if (kind === 'counted') {
    const next = yield* ahead()
    // `The "No." button`
    return !['digit', 'comma'].includes(next.type) && (closed === 'no' || !goesOn(next))
  }
  if (kind)
    return yield* abbreviationEnds(passage, { last, ahead: yield* ahead(), ender: kind === 'ender', closed })
  if (roman.test(word)) return yield* numberEnds(passage, last, yield* ahead())
  if (initial.test(word.replace(elision, '')) && standsAlone(passage, last))
    return yield* initialEnds(passage, last, yield* ahead())
  if (thai.test(word)) return !thaiAbbreviation.test(word)
  if (consonants.test(word)) return !['lower', 'comma'].includes((yield* ahead()).type)
  return closed === 'no' || !goesOn(yield* ahead())
}

const dot = 46
const digits = /^[#№]?\d{1,4}$/
/** `Am 24.12. ist` */
const dayAndMonth = /^\d{1,2}\.\d{1,2}$/
const roman = /^[IVXLCM]{2,}$/
const street = /\p{L}str$/u
/** `J`, `J.R.R`, `J.-P`, `U.S` */
const initial = /^(?:\p{L}\p{M}*\.-?)*\p{L}\p{M}*$/u
const consonants = /^[bcdfghjklmnpqrstvwxz]{2,5}$/i
const thai = /[\u0e00-\u0e7f]$/
/** Consonants only. */
const thaiAbbreviation = /(?:^|[^\u0e00-\u0e7f])(?:[ก-ฮ]{1,4}|โทร)$/
const label = /^(?:\d{1,3}(?:\.\d{1,3})*|[a-z]|[ivx]{1,4})$/i

/** Small letters behind what closes a quotation, and what never begins a sentence. */
export function goesOn({ type, opened }: Ahead): boolean {
  return type === 'comma' || (type === 'lower' && !opened)
}

/** A number or letter before the text, as in a list. */
function isLabel({ content, ownLine, marker }: Passage, { word, at }: Before): boolean {
  if (at !== content || !label.test(word)) return false
  // A list that began so may go on in the same line.
  return ownLine || Number(word) === (marker ?? Number.NaN) + 1
}

/** Not the C of `Ctrl+C`. */
function standsAlone({ tape }: Passage, { at }: Before): boolean {
  return !'+/=_|<>'.includes(String.fromCharCode(tape.code(at - 1)))
}

/** `z. B.` is `z.B`: what was written with spaces in it. */
function joined(passage: Passage, last: Before): string {
  let { word, at } = last
  for (let parts = 0; parts < 3; parts++) {
    const end = behindPrevious(passage, at)
    if (end === at || passage.tape.code(end - 1) !== dot) break
    const before = wordBefore(passage, end - 1)
    if (before.word.length === 0 || before.word.length > 3) break
    word = `${before.word}.${word}`
    at = before.at
  }
  return word
}

/** `l'ing. Verdi`: it tells enough of the language. */
const elision = /^(?:l|un|d|(?:d|n|s|qu)ell|d?all)['’](?=.)/i
const italian = knowledgeOf('it')

/** `Dipl.-Ing.` and `l'art.` are what their last parts are. */
function partKind({ knowledge }: Passage, word: string) {
  // `Hauptstr. 5`
  if (street.test(word)) return 'either'
  const cut = Math.max(word.lastIndexOf('-'), word.lastIndexOf("'"), word.lastIndexOf('’'))
  if (cut <= 0 || cut === word.length - 1) return
  const part = word.slice(cut + 1)
  return knowledge.abbreviation(part) ?? (elision.test(word) ? italian.abbreviation(part) : undefined)
}

/** What is an abbreviation only behind another word. */
const phrases: readonly (readonly [word: RegExp, before: RegExp])[] = [
  // `Ad es. questo`, `por ex.`
  [/^(?:es|ex)$/, /^(?:ad|per|por|par)$/i],
  // `Dr. med. Weber`, `Dr. rer. nat.`
  [/^(?:med|dent|vet|phil|jur|iur|theol|oec|rer|nat|pol)$/, /^(?:Dr|rer|med)\.$/],
]

function phraseKind(passage: Passage, { word, at }: Before) {
  const found = phrases.find(([last]) => last.test(word))
  const isOne = found?.[1].test(wordBefore(passage, behindPrevious(passage, at)).word)
  return isOne ? 'title' : undefined
}

/** `5 in. wide`, `5 sec. later` */
function unitKind(passage: Passage, { word, at }: Before) {
  const isUnit = word === 'in' || word === 'sec'
  return isUnit && /\d$/.test(wordBefore(passage, behindPrevious(passage, at)).word) ? 'either' : undefined
}

/** Whether what follows plainly begins a sentence, by its first word. */
function* begins(passage: Passage, { at, type }: Ahead): Wait<boolean> {
  if (type !== 'upper') return false
  const { tape, knowledge } = passage
  const word = yield* wordAt(tape, at)
  if (!knowledge.isStarter(word)) return false
  // `J. A. Smith`
  return word.length > 1 || (yield* tape.peek(at + 1)) !== dot
}

const daysMonthsZones =
  /^(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November|December|[ECMPB][SD]?T|(?:[IJKH]|AE|AC|AW|NZ)[SD]T|UTC|GMT|CES?T|Eastern|Pacific|Central|Mountain)$/
const introduction = /^(?:at|by|around|about|before|after|until|till|from|since|on|every|between|near)\b/i

function* abbreviationEnds(
  passage: Passage,
  { last, ahead, ender, closed }: { last: Before; ahead: Ahead; ender: boolean; closed: Closed },
): Wait<boolean> {
  const { type } = ahead
  if (type === 'end') return true
  if (type === 'lower' || type === 'digit' || type === 'comma' || type === 'dash') return false
  if (closed === 'quote') return true
  if (type !== 'upper') return ender
  if (isTime.test(last.word)) {
    const before = passage.tape.slice(passage.content, Math.min(last.at, passage.content + 40))
    // `At 5 a.m. Mr. Smith left.`
    if (before.length < 30 && introduction.test(before)) return false
    return !daysMonthsZones.test(yield* wordAt(passage.tape, ahead.at))
  }
  return ender || (yield* begins(passage, ahead))
}

const isTime = /^[ap]\.?m$/i

/** Nouns that a letter follows as a name does not. */
const lettered =
  /^(?:plan|vitamin|option|grade|point|type|class|team|group|section|part|exhibit|appendix|step|category|hepatitis|room|gate|terminal|platform|column|row|answer|choice|question|letter|version|level|variant|schedule|drive|variable)s?:?$/i

function* initialEnds(passage: Passage, last: Before, ahead: Ahead): Wait<boolean> {
  const { type } = ahead
  if (type === 'end') return true
  if (type !== 'upper') return type === 'other'
  const end = behindPrevious(passage, last.at)
  const { word } = wordBefore(passage, end)
  if (end < last.at && lettered.test(word)) return true
  // `you and I. Did you see Albert I. Jones?`
  if (last.word === 'I' && /^\p{Ll}+,?$/u.test(word)) return true
  return yield* begins(passage, ahead)
}

function* numberEnds(passage: Passage, last: Before, ahead: Ahead): Wait<boolean> {
  const { tape, knowledge, language } = passage
  const end = behindPrevious(passage, last.at)
  const before = wordBefore(passage, end)
  // `3. 10. 2024`, `2024. 5. 3.`
  const inDate = tape.code(end - 1) === dot && /^\d{1,4}\.$/.test(before.word)
  if (ahead.type === 'lower' || ahead.type === 'comma') return false
  if (ahead.type === 'digit') return !(inDate || (yield* isDatePart(passage, ahead.at)))
  if (ahead.type === 'letter') return !inDate
  if (ahead.type !== 'upper' || last.word.length > 3) return true
  // `Elisabeth II. Königin von England`
  if (roman.test(last.word) && language === 'de') return yield* begins(passage, ahead)
  // `I am 3. Bob is 4.`
  if (before.word === 'am' && wordBefore(passage, behindPrevious(passage, before.at)).word === 'I')
    return true
  const follows = knowledge.ordinals(before.word)
  // It is waited for only as long as it may be one.
  for (let length = 1; ; length++) {
    const word = yield* wordAt(tape, ahead.at, length)
    if (word.length < length) return !follows(word, true)
    if (!follows(word, false)) return true
  }
}

function* isDatePart({ tape }: Passage, at: number): Wait<boolean> {
  let end = at
  while (end - at < 3 && caseOf(String.fromCharCode(yield* tape.peek(end))) === 'digit') end++
  return (
    end - at < 3 &&
    (yield* tape.peek(end)) === dot &&
    !((yield* tape.peek(end + 1)) > 47 && tape.code(end + 1) < 58)
  )
}
