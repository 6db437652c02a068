import { invalidInput, messageOf } from '../protocol/index.ts'

/** Deeper than anybody means. What is a thousand deep can be read, but nobody could write it again without running out of stack. */
const deepest = 100

const quote = 0x22
const backslash = 0x5c
// What closes them is two further.
const bracket = 0x5b
const brace = 0x7b

/** Reads JSON of a client. Throws `invalid_input` that says what is wrong with it; `what` begins the sentence. */
export function parseJson(text: string, { op, what }: { op: string; what: string }): unknown {
  if (isTooDeep(text)) throw invalidInput(op, `${what} is nested more than ${deepest} deep`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidInput(op, `${what} is not valid JSON: ${messageOf(error)}`)
  }
}

/** By letters: a pattern would take longer than the parser. */
function isTooDeep(text: string): boolean {
  if (text.length <= 2 * deepest) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at)
    if (isInString) {
      if (letter === backslash) at++
      else if (letter === quote) isInString = false
    } else if (letter === quote) isInString = true
    else if (letter === bracket || letter === brace) {
      if (++depth > deepest) return true
    } else if (letter === bracket + 2 || letter === brace + 2) depth--
  }
  return false
}
