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
  // What was found on the way to the end of a number, and of a string: given back beside it without making an object.
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

    learn(learnt) {
      if (tries === 0) return
      tries--
      pattern = patternOf(learnt)
    },
  }
}

function patternOf({ data, frame, key, valueIn, sequence, padding, tell }: LearntFrame): Pattern | undefined {
  const value = placeOf(data, 'value', key, valueIn(frame))
  const places = value ? [value] : []
  for (const [hole, name] of [['sequence', sequence] as const, ['padding', padding] as const]) {
    if (name === undefined || frame[name] === undefined) continue
    const place = placeOf(data, hole, name, frame[name])
    // One that is there and cannot be found would be taken for something that never changes.
    if (!place) return undefined
    places.push(place)
  }
  if (!value) return undefined
  places.sort((one, other) => one.start - other.start)
  const literals: string[] = []
  let at = 0
  for (const { start, end } of places) {
    literals.push(data.slice(at, start))
    at = end
  }
  const pattern = { literals: [...literals, data.slice(at)], holes: places.map(({ hole }) => hole), tell }
  return isTrue(pattern, (probe) => [valueIn(probe), sequence && probe[sequence], padding && probe[padding]])
    ? pattern
    : undefined
}

const probes: Readonly<Record<Hole, string>> = { value: '~value~', sequence: '7', padding: '~padding~' }

/**
 * Text may look like a field and be another one, or the same key may stand there twice. So a frame is made with other values, and parsed:
 * they must come out where they are looked for.
 */
function isTrue({ literals, holes }: Pattern, valuesIn: (frame: Fields) => readonly unknown[]): boolean {
  const probe = literals.map((literal, at) => {
    const hole = holes[at]
    return hole ? literal + probes[hole] : literal
  })
  try {
    const found = valuesIn(JSON.parse(probe.join('')))
    const has = (hole: Hole, value: unknown) => !holes.includes(hole) || String(value) === probes[hole]
    return has('value', found[0]) && has('sequence', found[1]) && has('padding', found[2])
  } catch {
    return false
  }
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
