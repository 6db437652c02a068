import { caseOf, continuing, dashes, isLetter, isSpace, kind, kindOf, marks, openings } from './characters.ts'
import { lineAt } from './lines.ts'
import type { TextBuffer, Wait } from './text-buffer.ts'
import { characterAt } from './text-buffer.ts'

/** What follows a stop and space. */
export interface Ahead {
  /**
   * The kind of the first character. `end`: the paragraph ends. `comma`: cannot start a sentence.
   */
  readonly type: 'lower' | 'upper' | 'letter' | 'digit' | 'end' | 'dash' | 'comma' | 'other'
  readonly at: number
  /** Quotation marks or brackets precede it. */
  readonly opened: boolean
}

/** More space than this is an end. */
const maxGap = 40
const maxWordLength = 24

/** Skips space and opening marks up to the first significant character. */
export function* lookAhead(buffer: TextBuffer, from: number): Wait<Ahead> {
  let at = from
  let opened = false
  for (; at - from < maxGap; at++) {
    const code = yield* buffer.peek(at)
    if (code < 0) return { type: 'end', at, opened }
    if (kindOf(code) === kind.newline) {
      const line = yield* lineAt(buffer, at + 1)
      if (line.type !== 'text') return { type: 'end', at, opened }
      at = line.content - 1
    } else if (!isSpace(code)) {
      if (!openings.has(code)) break
      opened ||= !marks.has(code)
    }
  }
  if (at - from >= maxGap) return { type: 'end', at, opened }
  return { type: yield* typeAt(buffer, at), at, opened }
}

function* typeAt(buffer: TextBuffer, at: number): Wait<Ahead['type']> {
  const code = buffer.code(at)
  if (dashes.has(code)) return 'dash'
  if (continuing.has(code)) return 'comma'
  const found = caseOf(yield* characterAt(buffer, at))
  if (found === 'none') return 'other'
  // `iPhone`, `eBay` count as capitalized.
  if (found === 'lower' && caseOf(yield* characterAt(buffer, at + 1)) === 'upper') return 'upper'
  return found
}

/** The letters and apostrophes from `at` on, up to `maxLength`. */
export function* wordAt(buffer: TextBuffer, at: number, maxLength = maxWordLength): Wait<string> {
  let word = ''
  while (word.length < maxLength) {
    const character = yield* characterAt(buffer, at + word.length)
    if (character === '’' || character === "'") word += "'"
    else if (isLetter(character)) word += character
    else break
  }
  return word
}
