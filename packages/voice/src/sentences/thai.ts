import { isSpace } from './characters.ts'
import type { Passage } from './passage.ts'
import type { Tape, Wait } from './tape.ts'

// Thai has no stops: sentences end at spaces, but not at every one.

const isThai = (code: number) => code >= 0xe01 && code <= 0xe4e
/** Said at the end: to be polite, or to ask. */
const particle = /(?:ครับ|ค่ะ|คะ|จ้ะ|จ๊ะ|ไหม|มั้ย|หรือเปล่า|หรือยัง|เหรอ|(?<!ช)นะ)$/
/** A subject, or a word that leads over or begins a courtesy: what comes is a sentence of its own, even after few words. */
const starters = words(`
  ฉัน ผม ดิฉัน เขา เธอ เรา พวกเขา พวกเรา มัน คุณ วันนี้ พรุ่งนี้ เมื่อวาน ดังนั้น นอกจากนี้ อย่างไรก็ตาม จากนั้น หลังจากนั้น ต่อมา
  ยินดี ขอบคุณ ขอโทษ สวัสดี กรุณา โปรด
`)
/** Words that go on with what came before. */
const conjunctions = words(`
  และ แต่ หรือ ซึ่ง ที่ เพราะ โดย เพื่อ เนื่องจาก จึง ก็ รวมถึง รวมทั้ง เช่น ได้แก่ ทั้ง กับ ของ ใน เมื่อ ถ้า หาก แล้ว คือ ว่า อัน จน ตาม ถึง จาก
`)
/** What ends with one of these is not over. */
const dangling = /(?:และ|แต่|หรือ|ว่า|ที่|กับ|ของ|เพราะ|ให้|คือ|เช่น|ได้แก่|ใน)$/
/** A sentence that begins with one of these has its main part behind the next space. */
const subordinate = /^(?:เมื่อ|ถ้า|หาก|เพราะ|แม้|ขณะ|หลังจาก|ก่อน|ตอนที่)/
/** So much without space has a verb in it, and is no item of a list. */
const clause = 15

function words(list: string): readonly string[] {
  return list.split(/\s+/).filter(Boolean)
}

/** Whether a sentence ends at a space between Thai letters. */
export function* endsAtThaiSpace(passage: Passage, space: number): Wait<boolean> {
  const { tape, content, token } = passage
  if (content < 0 || !isThai(tape.code(space - 1))) return false
  const before = tape.slice(Math.max(content, space - 12), space)
  if (particle.test(before)) return true
  let at = space + 1
  while (at - space < 8 && isSpace(yield* tape.peek(at))) at++
  if (!isThai(yield* tape.peek(at)) || dangling.test(before)) return false
  if (subordinate.test(tape.slice(content, Math.min(space, content + 8)))) return false
  if (space - Math.max(content, token) < clause) return yield* isOneOf(tape, at, starters)
  return !(yield* isOneOf(tape, at, conjunctions))
}

/** Whether a place begins with one of these words. It is read only as long as it may. */
function* isOneOf(tape: Tape, at: number, words: readonly string[]): Wait<boolean> {
  let read = ''
  for (;;) {
    const code = yield* tape.peek(at + read.length)
    if (code < 0) return false
    read += String.fromCharCode(code)
    if (words.includes(read)) return true
    if (!words.some((word) => word.startsWith(read))) return false
  }
}
