import type { Ahead } from './ahead.ts'
import { wordAt } from './ahead.ts'
import { isLetter } from './characters.ts'
import type { Passage } from './passage.ts'
import type { TextBuffer, Wait } from './text-buffer.ts'

/**
 * Particles that tie a quotation to what follows: 「はい。」と言った. Excludes words that start like them.
 */
const particle =
  /^(?:と(?![てこにきうり])|っ|を|が(?![んっ])|の(?![ちん])|に|は(?![いじっ])|で(?![もは])|も(?![うしっち])|など|なん|だ(?![かがっれ]))/
const kana = /^[\p{Script=Hiragana}]/u
/** “停！”他说。 Only pronouns and a few forms of address, since names are not known. */
const saying = /^(?:[他她它我你您咱]们?|[小老阿]\p{Script=Han})(?:说|説|說|问|問|喊|叫|道|答)/u
const sayingSoFar = /^(?:[他她它我你您咱]们?|[小老阿]\p{Script=Han}?)$/u
const openings = new Set([...'“「『"'].map((one) => one.charCodeAt(0)))

/** "안녕!" 하고 말했다. */
const korean = /^(?:하고|하며|하는|라고|라며|라는|이라|이란)/

/** "قف!" قال الرجل. */
const arabic = /^(?:قال|سأل|صاح|صرخ|أجاب|رد|هتف|همس)ت?$/

const verbs = 'said asked replied answered cried shouted yelled whispered thought called'.split(' ')

/** "Why?" I said. The pronoun is always capitalized. Waits only as long as the text may match. */
function* isISaid(buffer: TextBuffer, at: number): Wait<boolean> {
  for (let read = ''; ; ) {
    const code = yield* buffer.peek(at + read.length)
    if (verbs.some((verb) => read === `I ${verb}`)) return code < 0 || !isLetter(String.fromCharCode(code))
    read += String.fromCharCode(code)
    if (!verbs.some((verb) => `I ${verb}`.startsWith(read))) return false
  }
}

/** Like `continuesAfterQuote`, for languages with a space there: English, Korean and Arabic. */
export function* isTiedToQuote({ buffer }: Passage, { at, type, opened }: Ahead): Wait<boolean> {
  if (opened) return false
  if (type === 'upper') return buffer.code(at) === 0x49 && (yield* isISaid(buffer, at))
  if (type !== 'letter') return false
  const first = yield* buffer.peek(at)
  if (first >= 0x600 && first <= 0x6ff) return arabic.test(yield* wordAt(buffer, at, 6))
  if (first < 0xac00 || first > 0xd7a3) return false
  return korean.test(String.fromCharCode(first, yield* buffer.peek(at + 1)))
}

/** Whether the sentence continues after a quotation, in scripts without lower case. */
export function* continuesAfterQuote({ buffer, content }: Passage, at: number): Wait<boolean> {
  let read = String.fromCharCode(yield* buffer.peek(at))
  if (kana.test(read)) return particle.test(read + String.fromCharCode(yield* buffer.peek(at + 1)))
  // 他问：“好吗？”我说：“好。” are two.
  if (!openings.has(buffer.code(content))) return false
  while (sayingSoFar.test(read)) {
    const code = yield* buffer.peek(at + read.length)
    if (code < 0) return false
    read += String.fromCharCode(code)
  }
  return saying.test(read)
}
