/** A generator that yields whenever it needs more text, and is resumed when more has arrived. */
export type Wait<Result> = Generator<undefined, Result, undefined>

/**
 * Text that has arrived and was not taken yet, addressed by positions in the whole text. Decisions
 * read it through `peek`, which waits, so they depend on the text alone and not on its chunking.
 */
export interface TextBuffer {
  /** The position of the first character that was not taken. */
  readonly start: number
  /** The end of the text that has arrived. */
  readonly end: number
  push(piece: string): void
  /** Marks the end of the text. */
  finish(): void
  readonly finished: boolean
  /** The code unit at a position; -1 past the end of what has arrived. */
  code(at: number): number
  /** The same, but waits for more text. -1 only past the end of the whole text. */
  peek(at: number): Wait<number>
  /** A part of the text that was not taken. */
  slice(from: number, to: number): string
  /** Removes and returns everything before a position. */
  take(to: number): string
}

export function textBuffer(base: number): TextBuffer {
  // Code units, since indexing a string that grows by appending flattens it each time.
  let codes: number[] = []
  let text = ''
  let start = base
  /**
   * How many of the codes are taken. They are removed in bulk, since each removal copies the rest.
   */
  let taken = 0
  let finished = false
  const code = (at: number) => (at < start ? -1 : (codes[at - start + taken] ?? -1))
  return {
    get start() {
      return start
    },
    get end() {
      return start + codes.length - taken
    },
    get finished() {
      return finished
    },
    push(piece) {
      for (let at = 0; at < piece.length; at++) codes.push(piece.charCodeAt(at))
      text += piece
    },
    finish() {
      finished = true
    },
    code,
    *peek(at) {
      while (at >= start + codes.length - taken && !finished) yield
      return code(at)
    },
    slice(from, to) {
      let found = ''
      for (let at = from; at < to; at++) found += String.fromCharCode(code(at))
      return found
    },
    take(to) {
      const result = text.slice(0, to - start)
      text = text.slice(to - start)
      taken += to - start
      if (taken * 2 > codes.length) [codes, taken] = [codes.slice(taken), 0]
      start = to
      return result
    },
  }
}

/** The whole character at a position; '' at the end of the text. */
export function* characterAt(buffer: TextBuffer, at: number): Wait<string> {
  const code = yield* buffer.peek(at)
  if (code < 0) return ''
  if (code < 0xd800 || code > 0xdbff) return String.fromCharCode(code)
  const next = yield* buffer.peek(at + 1)
  return next < 0 ? String.fromCharCode(code) : String.fromCharCode(code, next)
}
