import { caseOf, continuing, dashes, isLetter, isSpace, kind, kindOf, marks, openings } from './characters.ts'
import { lineAt } from './lines.ts'
import type { Tape, Wait } from './tape.ts'
import { characterAt } from './tape.ts'

/** What the text goes on with behind a stop and space. */
export interface Ahead {
  /** Of its first letter or digit. `end`: the paragraph is over. `comma`: what begins no sentence. `other`: none of all these. */
  readonly type: 'lower' | 'upper' | 'letter' | 'digit' | 'end' | 'dash' | 'comma' | 'other'
  readonly at: number
  /** There are quotation marks or brackets before it. */
  readonly opened: boolean
}

/** Farther than this nobody looks: so much space is an end. */
const widestGap = 40
const longestWord = 24

/** Skips space, and marks that open something, up to the first character that tells something. */
export function* lookAhead(tape: Tape, from: number): Wait<Ahead> {
  let at = from
  let opened = false
  for (; at - from < widestGap; at++) {
    const code = yield* tape.peek(at)
    if (code < 0) return { type: 'end', at, opened }
    if (kindOf(code) === kind.newline) {
      const line = yield* lineAt(tape, at + 1)
      if (line.type !== 'text') return { type: 'end', at, opened }
      at = line.content - 1
    } else if (!isSpace(code)) {
      if (!openings.has(code)) break
      opened ||= !marks.has(code)
    }
  }
  if (at - from >= widestGap) return { type: 'end', at, opened }
  return { type: yield* typeAt(tape, at), at, opened }
}

function* typeAt(tape: Tape, at: number): Wait<Ahead['type']> {
  const code = tape.code(at)
  if (dashes.has(code)) return 'dash'
  if (continuing.has(code)) return 'comma'
  const found = caseOf(yield* characterAt(tape, at))
  if (found === 'none') return 'other'
  // `iPhone`, `eBay`: as good as a capital.
  if (found === 'lower' && caseOf(yield* characterAt(tape, at + 1)) === 'upper') return 'upper'
  return found
}

/** The letters from a place on, with the apostrophes in them, as far as they are wanted. */
export function* wordAt(tape: Tape, at: number, longest = longestWord): Wait<string> {
  let word = ''
  while (word.length < longest) {
    const character = yield* characterAt(tape, at + word.length)
    if (character === '’' || character === "'") word += "'"
    else if (isLetter(character)) word += character
    else break
  }
  return word
}
