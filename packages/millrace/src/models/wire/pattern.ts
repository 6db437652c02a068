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
   * Takes a frame that has a string under `key` as the pattern for those that come; `tell` is called with the string of each, its
   * running number if it has one, and its data, and does what reading the whole frame would do.
   */
  learn(frame: LearntFrame): void
}

type Tell = (value: string, sequence: number | undefined, data: string) => void

type Fields = Readonly<Record<string, unknown>>

interface LearntFrame {
  readonly data: string
  /** What it was parsed to. */
  readonly frame: Fields
  readonly key: string
  /** The value in a frame of this form. */
  readonly valueIn: (frame: Fields) => unknown
  /** Keys of the frame itself whose values change too: that of a running number, and that of padding. */
  readonly sequence?: string
  readonly padding?: string
  readonly tell: Tell
}

/** The value that is told, a running number, a string that means nothing. */
type Hole = 'value' | 'sequence' | 'padding'

interface Pattern {
  /** What stands before each of the holes, and after the last. */
  readonly literals: readonly string[]
  readonly holes: readonly Hole[]
  /** In the frame it was made from. */
  readonly value: unknown
  tell: Tell
  /**
   * Text may look like a field and be another one, or a key may stand there twice. So a pattern is used only when it has read a second
   * frame, with another value, as the parser did.
   */
  proven: boolean
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
  // What was found in the frame that was looked at last: given back beside the answer without making an object.
  let value: string | undefined
  let sequence: number | undefined
  let padding: string | undefined
  let escaped = false

  /** -1 if there is none here. One that begins with a zero is none, and longer ones lose their last digits. */
  function endOfNumber(data: string, start: number): number {
    let number = 0
    let at = start
    for (let code = data.charCodeAt(at); code >= 0x30 && code <= 0x39; code = data.charCodeAt(at)) {
      number = number * 10 + code - 0x30
      at++
    }
    sequence = number
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

  function fits(data: string, { literals, holes }: Pattern): boolean {
    value = sequence = padding = undefined
    let at = 0
    for (let index = 0; ; index++) {
      const literal = literals[index] as string
      // Cutting it out and comparing is three times as fast as `startsWith`.
      if (data.slice(at, at + literal.length) !== literal) return false
      at += literal.length
      const hole = holes[index]
      if (hole === undefined) return value !== undefined && at === data.length
      const end = hole === 'sequence' ? endOfNumber(data, at) : endOfString(data, at)
      if (end === -1) return false
      if (hole === 'value') value = meaning(data.slice(at, end), escaped)
      if (hole === 'padding') {
        // It has no escapes; should it have, it is left to the parser.
        if (escaped) return false
        padding = data.slice(at, end)
      }
      at = end
    }
  }

  return {
    read(data) {
      if (!pattern?.proven || !fits(data, pattern)) return false
      tries = patience
      pattern.tell(value as string, sequence, data)
      return true
    },

    learn(learnt) {
      const { data, frame, valueIn, tell } = learnt
      if (pattern && !pattern.proven && fits(data, pattern)) {
        // The same value once more proves nothing.
        if (value === pattern.value && value === valueIn(frame)) return
        const { sequence: number = '', padding: filler = '' } = learnt
        pattern.proven = value === valueIn(frame) && sequence === frame[number] && padding === frame[filler]
        pattern.tell = tell
        if (pattern.proven) return
      }
      pattern = undefined
      if (tries === 0) return
      tries--
      pattern = patternOf(learnt)
    },
  }
}

function patternOf({ data, frame, key, valueIn, sequence, padding, tell }: LearntFrame): Pattern | undefined {
  const value = valueIn(frame)
  const place = placeOf(data, 'value', key, value)
  if (!place) return undefined
  const places = [place]
  for (const [hole, name] of [['sequence', sequence] as const, ['padding', padding] as const]) {
    if (name === undefined || frame[name] === undefined) continue
    const other = placeOf(data, hole, name, frame[name])
    // One that is there and cannot be found would be taken for something that never changes.
    if (!other) return undefined
    places.push(other)
  }
  places.sort((one, other) => one.start - other.start)
  const literals: string[] = []
  let at = 0
  for (const { start, end } of places) {
    literals.push(data.slice(at, start))
    at = end
  }
  literals.push(data.slice(at))
  return { literals, holes: places.map(({ hole }) => hole), value, tell, proven: false }
}

interface Place {
  readonly hole: Hole
  readonly start: number
  readonly end: number
}

/** Where a value stands; nothing if that is not certain. Of a string, what is between the quotes. */
function placeOf(data: string, hole: Hole, key: string, value: unknown): Place | undefined {
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
    // `1e5` begins like 1.
    if (hole === 'sequence' && !/[,}\s]/.test(data[end] ?? '')) return undefined
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
