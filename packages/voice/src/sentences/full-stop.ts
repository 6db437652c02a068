import type { Ahead } from './ahead.ts'
import { lookAhead, wordAt } from './ahead.ts'
import { caseOf } from './characters.ts'
import { languageRules as knowledgeOf } from './languages/index.ts'
import type { Passage, WordBefore } from './passage.ts'
import { previousWordEnd, wordBefore } from './passage.ts'
import type { Wait } from './text-buffer.ts'

/** What closes between the stop and the space: a quotation, a bracket, or nothing that matters. */
export type Closed = 'quote' | 'bracket' | 'no'

/**
 * Whether a stop before space ends the sentence. After an ordinary word it decides at once. If the
 * stop may belong to an abbreviation, it waits for the next character, or the next word.
 */
export function* fullStopEnds(passage: Passage, stop: number, after: number, closed: Closed): Wait<boolean> {
  const last = wordBefore(passage, stop)
  const { word } = last
  if (isLabel(passage, last)) return false
  const ahead = () => lookAhead(passage.buffer, after)
  if (digits.test(word)) return yield* numberEnds(passage, last, yield* ahead())
  if (dayAndMonth.test(word)) return !continues(yield* ahead())
  const whole = joinedAbbreviation(passage, last)
  const known = passage.rules.abbreviation(whole) ?? passage.rules.abbreviation(word)
  const kind = unitKind(passage, last) ?? known ?? partKind(passage, word) ?? phraseKind(passage, last)
  if (kind === 'title' && closed !== 'quote') return false
  if (kind === 'counted' && initial.test(word)) return yield* initialEnds(passage, last, yield* ahead())
  if (kind === 'counted') {
    const next = yield* ahead()
    // `The "No." button`
    return !['digit', 'comma'].includes(next.type) && (closed === 'no' || !continues(next))
  }
  if (kind)
    return yield* abbreviationEnds(passage, { last, ahead: yield* ahead(), ender: kind === 'ender', closed })
  if (roman.test(word)) return yield* numberEnds(passage, last, yield* ahead())
  if (initial.test(word.replace(elision, '')) && isStandalone(passage, last))
    return yield* initialEnds(passage, last, yield* ahead())
  if (thai.test(word)) return !thaiAbbreviation.test(word)
  if (consonants.test(word)) return !['lower', 'comma'].includes((yield* ahead()).type)
  return closed === 'no' || !continues(yield* ahead())
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

/**
 * Whether the text ahead continues the sentence: lower case, or a character that never starts one.
 */
export function continues({ type, opened }: Ahead): boolean {
  return type === 'comma' || (type === 'lower' && !opened)
}

/** A number or letter before the text, as in a list. */
function isLabel({ content, startsLine, marker }: Passage, { word, at }: WordBefore): boolean {
  if (at !== content || !label.test(word)) return false
  // A list may continue on the same line.
  return startsLine || Number(word) === (marker ?? Number.NaN) + 1
}

/** Not the C of `Ctrl+C`. */
function isStandalone({ buffer }: Passage, { at }: WordBefore): boolean {
  return !'+/=_|<>'.includes(String.fromCharCode(buffer.code(at - 1)))
}

/** Joins an abbreviation that was written with spaces: `z. B.` is `z.B`. */
function joinedAbbreviation(passage: Passage, last: WordBefore): string {
  let { word, at } = last
  for (let parts = 0; parts < 3; parts++) {
    const end = previousWordEnd(passage, at)
    if (end === at || passage.buffer.code(end - 1) !== dot) break
    const before = wordBefore(passage, end - 1)
    if (before.word.length === 0 || before.word.length > 3) break
    word = `${before.word}.${word}`
    at = before.at
  }
  return word
}

/** `l'ing. Verdi`: the elision identifies the language. */
const elision = /^(?:l|un|d|(?:d|n|s|qu)ell|d?all)['’](?=.)/i
const italian = knowledgeOf('it')

/** `Dipl.-Ing.` and `l'art.` are classified by their last parts. */
function partKind({ rules }: Passage, word: string) {
  // `Hauptstr. 5`
  if (street.test(word)) return 'either'
  const cut = Math.max(word.lastIndexOf('-'), word.lastIndexOf("'"), word.lastIndexOf('’'))
  if (cut <= 0 || cut === word.length - 1) return
  const part = word.slice(cut + 1)
  return rules.abbreviation(part) ?? (elision.test(word) ? italian.abbreviation(part) : undefined)
}

/** Abbreviations only after certain words. */
const phrases: readonly (readonly [word: RegExp, before: RegExp])[] = [
  // `Ad es. questo`, `por ex.`
  [/^(?:es|ex)$/, /^(?:ad|per|por|par)$/i],
  // `Dr. med. Weber`, `Dr. rer. nat.`
  [/^(?:med|dent|vet|phil|jur|iur|theol|oec|rer|nat|pol)$/, /^(?:Dr|rer|med)\.$/],
]

function phraseKind(passage: Passage, { word, at }: WordBefore) {
  const found = phrases.find(([last]) => last.test(word))
  const isPhrase = found?.[1].test(wordBefore(passage, previousWordEnd(passage, at)).word)
  return isPhrase ? 'title' : undefined
}

/** `5 in. wide`, `5 sec. later` */
function unitKind(passage: Passage, { word, at }: WordBefore) {
  const isUnit = word === 'in' || word === 'sec'
  return isUnit && /\d$/.test(wordBefore(passage, previousWordEnd(passage, at)).word) ? 'either' : undefined
}

/** Whether the first word ahead clearly starts a sentence. */
function* startsSentence(passage: Passage, { at, type }: Ahead): Wait<boolean> {
  if (type !== 'upper') return false
  const { buffer, rules } = passage
  const word = yield* wordAt(buffer, at)
  if (!rules.isStarter(word)) return false
  // `J. A. Smith`
  return word.length > 1 || (yield* buffer.peek(at + 1)) !== dot
}

const daysMonthsZones =
  /^(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November|December|[ECMPB][SD]?T|(?:[IJKH]|AE|AC|AW|NZ)[SD]T|UTC|GMT|CES?T|Eastern|Pacific|Central|Mountain)$/
const introduction = /^(?:at|by|around|about|before|after|until|till|from|since|on|every|between|near)\b/i

function* abbreviationEnds(
  passage: Passage,
  { last, ahead, ender, closed }: { last: WordBefore; ahead: Ahead; ender: boolean; closed: Closed },
): Wait<boolean> {
  const { type } = ahead
  if (type === 'end') return true
  if (type === 'lower' || type === 'digit' || type === 'comma' || type === 'dash') return false
  if (closed === 'quote') return true
  if (type !== 'upper') return ender
  if (isTime.test(last.word)) {
    const before = passage.buffer.slice(passage.content, Math.min(last.at, passage.content + 40))
    // `At 5 a.m. Mr. Smith left.`
    if (before.length < 30 && introduction.test(before)) return false
    return !daysMonthsZones.test(yield* wordAt(passage.buffer, ahead.at))
  }
  return ender || (yield* startsSentence(passage, ahead))
}

const isTime = /^[ap]\.?m$/i

/** Nouns that are followed by a single letter, as in `plan B`. */
const takesLetter =
  /^(?:plan|vitamin|option|grade|point|type|class|team|group|section|part|exhibit|appendix|step|category|hepatitis|room|gate|terminal|platform|column|row|answer|choice|question|letter|version|level|variant|schedule|drive|variable)s?:?$/i

function* initialEnds(passage: Passage, last: WordBefore, ahead: Ahead): Wait<boolean> {
  const { type } = ahead
  if (type === 'end') return true
  if (type !== 'upper') return type === 'other'
  const end = previousWordEnd(passage, last.at)
  const { word } = wordBefore(passage, end)
  if (end < last.at && takesLetter.test(word)) return true
  // `you and I. Did you see Albert I. Jones?`
  if (last.word === 'I' && /^\p{Ll}+,?$/u.test(word)) return true
  return yield* startsSentence(passage, ahead)
}

function* numberEnds(passage: Passage, last: WordBefore, ahead: Ahead): Wait<boolean> {
  const { buffer, rules, language } = passage
  const end = previousWordEnd(passage, last.at)
  const before = wordBefore(passage, end)
  // `3. 10. 2024`, `2024. 5. 3.`
  const inDate = buffer.code(end - 1) === dot && /^\d{1,4}\.$/.test(before.word)
  if (ahead.type === 'lower' || ahead.type === 'comma') return false
  if (ahead.type === 'digit') return !(inDate || (yield* isDatePart(passage, ahead.at)))
  if (ahead.type === 'letter') return !inDate
  if (ahead.type !== 'upper' || last.word.length > 3) return true
  // `Elisabeth II. Königin von England`
  if (roman.test(last.word) && language === 'de') return yield* startsSentence(passage, ahead)
  // `I am 3. Bob is 4.`
  if (before.word === 'am' && wordBefore(passage, previousWordEnd(passage, before.at)).word === 'I')
    return true
  const follows = rules.ordinals(before.word)
  // Waits only as long as the word may still be one.
  for (let length = 1; ; length++) {
    const word = yield* wordAt(buffer, ahead.at, length)
    if (word.length < length) return !follows(word, true)
    if (!follows(word, false)) return true
  }
}

function* isDatePart({ buffer }: Passage, at: number): Wait<boolean> {
  let end = at
  while (end - at < 3 && caseOf(String.fromCharCode(yield* buffer.peek(end))) === 'digit') end++
  return (
    end - at < 3 &&
    (yield* buffer.peek(end)) === dot &&
    !((yield* buffer.peek(end + 1)) > 47 && buffer.code(end + 1) < 58)
  )
}
