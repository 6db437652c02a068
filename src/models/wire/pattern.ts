/**
 * Reads frames that are like one before them without parsing them.
 *
 * Most frames of an answer differ from the last only in the words, a running number and the padding that OpenAI calls
 * `obfuscation`. To parse all the rest again costs more than everything else that is done for a word. A frame that is the same
 * to the letter outside of those values means the same as the one it is like, so that one's meaning is taken and only the
 * values are read. Whatever is not quite the same is not read here.
 */
export interface FramePattern {
  /** True if the frame was like the one learnt, and has been told. */
  read(data: string): boolean
  /**
   * Takes a frame that said nothing but `value`, a string under `key`, as the pattern for those that come; `tell` is called with
   * the value of each, its running number if it has one, and its data.
   */
  learn(frame: LearntFrame): void
}

type Tell = (value: string, sequence: number | undefined, data: string) => void

interface LearntFrame {
  readonly data: string
  readonly key: string
  readonly value: string
  /** What else changes from frame to frame: the key of a running number, the key of padding. */
  readonly sequence?: readonly [key: string, value: unknown]
  readonly padding?: readonly [key: string, value: unknown]
  readonly tell: Tell
}

/** The value that is told, a running number, a string that means nothing. */
type Hole = 'value' | 'sequence' | 'padding'

interface Pattern {
  /** What stands before each of the holes, and after the last. */
  readonly literals: readonly string[]
  readonly holes: readonly Hole[]
  readonly tell: Tell
}

/** A wire whose frames are never alike must not pay for learning each of them. */
const patience = 16

/** In characters: anything shorter is copied. */
const shortestSlice = 13

const quote = 0x22
const backslash = 0x5c

export function framePattern(): FramePattern {
  let pattern: Pattern | undefined
  let tries = patience
  // What was found on the way to the end of a number, and of a string.
  let number = 0
  let escaped = false

  /** -1 if there is none here. One that begins with a zero is none, and longer ones lose their last digits. */
  function endOfNumber(data: string, start: number): number {
    number = 0
    let at = start
    for (let code = data.charCodeAt(at); code >= 0x30 && code <= 0x39; code = data.charCodeAt(at)) {
      number = number * 10 + code - 0x30
      at++
    }
    const length = at - start
    return length === 1 || (length > 0 && length < 16 && data[start] !== '0') ? at : -1
  }

  /** -1 if it holds what no JSON string may, or does not end. */
  function endOfString(data: string, start: number): number {
    escaped = false
    for (let at = start; at < data.length; at++) {
      const code = data.charCodeAt(at)
      if (code === quote) return at
      if (code === backslash) {
        escaped = true
        at++
      } else if (code < 0x20) return -1
    }
    return -1
  }

  return {
    read(data) {
      if (!pattern) return false
      const { literals, holes } = pattern
      let value: string | undefined
      let sequence: number | undefined
      let at = 0
      for (let index = 0; ; index++) {
        const literal = literals[index] as string
        // Cutting it out and comparing is three times as fast as `startsWith`.
        if (data.slice(at, at + literal.length) !== literal) return false
        at += literal.length
        const hole = holes[index]
        if (hole === undefined) break
        const end = hole === 'sequence' ? endOfNumber(data, at) : endOfString(data, at)
        if (end === -1) return false
        if (hole === 'sequence') sequence = number
        else if (hole === 'value') value = meaning(data.slice(at, end), escaped)
        // Padding has none; should it have, it is left to the parser.
        else if (escaped) return false
        at = end
      }
      if (value === undefined || at !== data.length) return false
      tries = patience
      pattern.tell(value, sequence, data)
      return true
    },

    learn({ data, key, value, sequence, padding, tell }) {
      if (tries === 0) return
      tries--
      const found = [
        placeOf(data, 'value', [key, value]),
        sequence && placeOf(data, 'sequence', sequence),
        padding && placeOf(data, 'padding', padding),
      ].filter((place) => place !== undefined)
      pattern = undefined
      if (found[0]?.hole !== 'value') return
      found.sort((one, other) => one.start - other.start)
      const literals: string[] = []
      let at = 0
      for (const { start, end } of found) {
        literals.push(data.slice(at, start))
        at = end
      }
      pattern = { literals: [...literals, data.slice(at)], holes: found.map(({ hole }) => hole), tell }
    },
  }
}

interface Place {
  readonly hole: Hole
  readonly start: number
  readonly end: number
}

/** Where a value stands; nothing if that is not certain. Of a string, what is between the quotes. */
function placeOf(data: string, hole: Hole, [key, value]: readonly [string, unknown]): Place | undefined {
  const fits =
    hole === 'sequence' ? Number.isSafeInteger(value) && Number(value) >= 0 : typeof value === 'string'
  if (!fits) return undefined
  const written = JSON.stringify(value)
  for (const colon of [':', ': ']) {
    const field = `"${key}"${colon}${written}`
    const at = data.indexOf(field)
    if (at === -1) continue
    if (data.lastIndexOf(field) !== at) return undefined
    const inside = hole === 'sequence' ? 0 : 1
    const end = at + field.length
    return { hole, start: end - written.length + inside, end: end - inside }
  }
  return undefined
}

/**
 * What a string means that was written between two quotes; nothing if no JSON string is written so.
 *
 * V8 cuts a longer string out by pointing into what it is cut from: kept, it would keep a whole read of the socket with it. What
 * `JSON.parse` gives stands for itself.
 */
function meaning(written: string, escaped: boolean): string | undefined {
  if (written.length < shortestSlice && !escaped) return written
  try {
    return JSON.parse(`"${written}"`)
  } catch {
    return undefined
  }
}
