import { kind, kindOf } from './characters.ts'
import type { Tape, Wait } from './tape.ts'

// Code, link targets, tags and comments: the stops in them are none.

const codes = (characters: string) =>
  [...characters].map((one) => one.charCodeAt(0)) as [number, number, number]
const [backtick, less, greater] = codes('`<>')
const [bracket, open, close] = codes('](\u0029')
const [bang, dash, slash] = codes('!-/')

/** What is not closed within so many characters was likely never meant to be. */
const farthest = 200

/** Finds what is hidden, or read as one. */
export interface Skipper {
  /** The place behind it; 0 if nothing like that begins here. */
  skip(at: number): Wait<number>
}

export function skipper(tape: Tape): Skipper {
  /** Up to there, no target of a link is closed. */
  let unclosed = 0

  /** The same for comments. */
  let uncommented = 0

  /**
   * A bracket in a target ends it here: what is left of it has no stops that matter. An address may be long; what has space in
   * it is likely none.
   */
  function* targetEnd(at: number): Wait<number> {
    let longest = 10 * farthest
    for (let next = Math.max(at, unclosed); next - at < longest; next++) {
      const code = next < tape.end ? tape.code(next) : yield* tape.peek(next)
      unclosed = next
      if (code < 0 || kindOf(code) === kind.newline) return 0
      if (code === close) return next + 1
      if (kindOf(code) === kind.space) longest = farthest
    }
    return 0
  }

  /** In HTML one that is never closed goes on to the end; here nothing would be said any more. */
  function* commentEnd(at: number): Wait<number> {
    if ((yield* tape.peek(at + 2)) !== dash || (yield* tape.peek(at + 3)) !== dash) return 0
    for (let next = Math.max(at + 6, uncommented); next - at < farthest; next++) {
      const code = yield* tape.peek(next)
      uncommented = next
      if (code < 0) return 0
      if (code === greater && tape.code(next - 1) === dash && tape.code(next - 2) === dash) return next + 1
    }
    return 0
  }

  return {
    *skip(at) {
      const code = tape.code(at)
      if (code === backtick) return yield* codeEnd(tape, at)
      if (code === bracket) return (yield* tape.peek(at + 1)) === open ? yield* targetEnd(at + 2) : 0
      if (code !== less) return 0
      return (yield* tape.peek(at + 1)) === bang ? yield* commentEnd(at) : yield* tagEnd(tape, at)
    },
  }
}

function* runLength(tape: Tape, at: number): Wait<number> {
  let end = at
  while (end - at < farthest && (yield* tape.peek(end)) === backtick) end++
  return end - at
}

/** CommonMark 6.1: as many backticks as it began with. */
function* codeEnd(tape: Tape, at: number): Wait<number> {
  const length = yield* runLength(tape, at)
  let next = at + length
  while (next - at < farthest) {
    const code = yield* tape.peek(next)
    if (code < 0 || kindOf(code) === kind.newline) return at + length
    const run = code === backtick ? yield* runLength(tape, next) : 0
    if (run === length) return next + run
    next += Math.max(run, 1)
  }
  return at + length
}

const isName = (code: number) => code === slash || /[a-z]/i.test(String.fromCharCode(code))

function* tagEnd(tape: Tape, at: number): Wait<number> {
  const first = yield* tape.peek(at + 1)
  if (!isName(first)) return 0
  for (let next = at + 1; next - at < farthest; next++) {
    const code = yield* tape.peek(next)
    if (code < 0 || code === less || kindOf(code) === kind.newline) return 0
    if (code === greater) return next + 1
  }
  return 0
}
