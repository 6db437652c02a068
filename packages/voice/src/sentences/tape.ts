/** Something that may have to wait for more text: it yields nothing whenever it does, and is called again when more has come. */
export type Wait<Result> = Generator<undefined, Result, undefined>

/**
 * The text that has come and is not given out yet, by places in the whole text. Everything that decides reads it through
 * `peek`, which waits: so what is decided depends on the text alone, never on how it was cut.
 */
export interface Tape {
  /** Where what is not taken begins. */
  readonly start: number
  /** Behind the last character that has come. */
  readonly end: number
  push(piece: string): void
  /** No more will come. */
  finish(): void
  readonly finished: boolean
  /** The code unit at a place that has come; -1 behind the end. */
  code(at: number): number
  /** The same, waiting for it: -1 only if there will be none. */
  peek(at: number): Wait<number>
  /** Of what has come and is not taken. */
  slice(from: number, to: number): string
  /** Gives out everything before a place. */
  take(to: number): string
}

export function tape(base: number): Tape {
  // Code units, since to index a string that grows by a character at a time costs as much as its length.
  let codes: number[] = []
  let text = ''
  let start = base
  /** How many of the codes are taken: to cut them off each time would cost as much as what is left. */
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
      const given = text.slice(0, to - start)
      text = text.slice(to - start)
      taken += to - start
      if (taken * 2 > codes.length) [codes, taken] = [codes.slice(taken), 0]
      start = to
      return given
    },
  }
}

/** The whole character at a place; '' at the end of the text. */
export function* characterAt(tape: Tape, at: number): Wait<string> {
  const code = yield* tape.peek(at)
  if (code < 0) return ''
  if (code < 0xd800 || code > 0xdbff) return String.fromCharCode(code)
  const next = yield* tape.peek(at + 1)
  return next < 0 ? String.fromCharCode(code) : String.fromCharCode(code, next)
}
