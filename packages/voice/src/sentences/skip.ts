import { kind, kindOf } from './characters.ts'
import type { TextBuffer, Wait } from './text-buffer.ts'

// Code, link targets, tags and comments: stops in them do not end sentences.

const codes = (characters: string) =>
  [...characters].map((one) => one.charCodeAt(0)) as [number, number, number]
const [backtick, less, greater] = codes('`<>')
const [bracket, open, close] = codes('](\u0029')
const [bang, dash, slash] = codes('!-/')

/** What is not closed within this many characters is probably not markup. */
const maxDistance = 200

/** Finds text that is hidden or read as a unit. */
export interface Skipper {
  /** The end of the hidden text that starts at `at`, or 0. */
  skip(at: number): Wait<number>
}

export function skipper(buffer: TextBuffer): Skipper {
  /** No link target ends before this position. */
  let noTargetEndBefore = 0

  /** No comment ends before this position. */
  let noCommentEndBefore = 0

  /**
   * The first closing parenthesis ends a target: the rest has no stops that matter. A URL may be
   * long, but text with spaces is probably not one.
   */
  function* targetEnd(at: number): Wait<number> {
    let limit = 10 * maxDistance
    for (let next = Math.max(at, noTargetEndBefore); next - at < limit; next++) {
      const code = next < buffer.end ? buffer.code(next) : yield* buffer.peek(next)
      noTargetEndBefore = next
      if (code < 0 || kindOf(code) === kind.newline) return 0
      if (code === close) return next + 1
      if (kindOf(code) === kind.space) limit = maxDistance
    }
    return 0
  }

  /**
   * In HTML an unclosed comment extends to the end. Here that would silence the rest, so it is
   * ignored.
   */
  function* commentEnd(at: number): Wait<number> {
    if ((yield* buffer.peek(at + 2)) !== dash || (yield* buffer.peek(at + 3)) !== dash) return 0
    for (let next = Math.max(at + 6, noCommentEndBefore); next - at < maxDistance; next++) {
      const code = yield* buffer.peek(next)
      noCommentEndBefore = next
      if (code < 0) return 0
      if (code === greater && buffer.code(next - 1) === dash && buffer.code(next - 2) === dash)
        return next + 1
    }
    return 0
  }

  return {
    *skip(at) {
      const code = buffer.code(at)
      if (code === backtick) return yield* codeEnd(buffer, at)
      if (code === bracket) return (yield* buffer.peek(at + 1)) === open ? yield* targetEnd(at + 2) : 0
      if (code !== less) return 0
      return (yield* buffer.peek(at + 1)) === bang ? yield* commentEnd(at) : yield* tagEnd(buffer, at)
    },
  }
}

function* runLength(buffer: TextBuffer, at: number): Wait<number> {
  let end = at
  while (end - at < maxDistance && (yield* buffer.peek(end)) === backtick) end++
  return end - at
}

/** CommonMark 6.1: closed by the same number of backticks. */
function* codeEnd(buffer: TextBuffer, at: number): Wait<number> {
  const length = yield* runLength(buffer, at)
  let next = at + length
  while (next - at < maxDistance) {
    const code = yield* buffer.peek(next)
    if (code < 0 || kindOf(code) === kind.newline) return at + length
    const run = code === backtick ? yield* runLength(buffer, next) : 0
    if (run === length) return next + run
    next += Math.max(run, 1)
  }
  return at + length
}

const isName = (code: number) => code === slash || /[a-z]/i.test(String.fromCharCode(code))

function* tagEnd(buffer: TextBuffer, at: number): Wait<number> {
  const first = yield* buffer.peek(at + 1)
  if (!isName(first)) return 0
  for (let next = at + 1; next - at < maxDistance; next++) {
    const code = yield* buffer.peek(next)
    if (code < 0 || code === less || kindOf(code) === kind.newline) return 0
    if (code === greater) return next + 1
  }
  return 0
}
