import { isSpace } from './characters.ts'
import type { Passage } from './passage.ts'
import type { TextBuffer, Wait } from './text-buffer.ts'

// Thai has no stops: sentences end at spaces, but not at all of them.

const isThai = (code: number) => code >= 0xe01 && code <= 0xe4e
/** Politeness and question particles at the end of a sentence. */
const particle = /(?:ครับ|ค่ะ|คะ|จ้ะ|จ๊ะ|ไหม|มั้ย|หรือเปล่า|หรือยัง|เหรอ|(?<!ช)นะ)$/
/** Subjects, linking words and courtesies: they start a sentence, even after a few words. */
const starters = words(`
  ฉัน ผม ดิฉัน เขา เธอ เรา พวกเขา พวกเรา มัน คุณ วันนี้ พรุ่งนี้ เมื่อวาน ดังนั้น นอกจากนี้ อย่างไรก็ตาม จากนั้น หลังจากนั้น ต่อมา
  ยินดี ขอบคุณ ขอโทษ สวัสดี กรุณา โปรด
`)
/** Words that continue the sentence. */
const conjunctions = words(`
  และ แต่ หรือ ซึ่ง ที่ เพราะ โดย เพื่อ เนื่องจาก จึง ก็ รวมถึง รวมทั้ง เช่น ได้แก่ ทั้ง กับ ของ ใน เมื่อ ถ้า หาก แล้ว คือ ว่า อัน จน ตาม ถึง จาก
`)
/** A sentence never ends with one of these. */
const dangling = /(?:และ|แต่|หรือ|ว่า|ที่|กับ|ของ|เพราะ|ให้|คือ|เช่น|ได้แก่|ใน)$/
/** A sentence that starts with one of these has its main clause after the next space. */
const subordinate = /^(?:เมื่อ|ถ้า|หาก|เพราะ|แม้|ขณะ|หลังจาก|ก่อน|ตอนที่)/
/** A run of this length has a verb and is not a list item. */
const clause = 15

function words(list: string): readonly string[] {
  return list.split(/\s+/).filter(Boolean)
}

/** Whether a sentence ends at a space between Thai letters. */
export function* endsAtThaiSpace(passage: Passage, space: number): Wait<boolean> {
  const { buffer, content, token } = passage
  if (content < 0 || !isThai(buffer.code(space - 1))) return false
  const before = buffer.slice(Math.max(content, space - 12), space)
  if (particle.test(before)) return true
  let at = space + 1
  while (at - space < 8 && isSpace(yield* buffer.peek(at))) at++
  if (!isThai(yield* buffer.peek(at)) || dangling.test(before)) return false
  if (subordinate.test(buffer.slice(content, Math.min(space, content + 8)))) return false
  if (space - Math.max(content, token) < clause) return yield* isOneOf(buffer, at, starters)
  return !(yield* isOneOf(buffer, at, conjunctions))
}

/** Whether one of these words starts at `at`. Waits only as long as the text may match. */
function* isOneOf(buffer: TextBuffer, at: number, words: readonly string[]): Wait<boolean> {
  let read = ''
  for (;;) {
    const code = yield* buffer.peek(at + read.length)
    if (code < 0) return false
    read += String.fromCharCode(code)
    if (words.includes(read)) return true
    if (!words.some((word) => word.startsWith(read))) return false
  }
}
