/**
 * Reads frames without parsing them if they match an earlier frame.
 *
 * Most frames of an answer differ from the previous one only in the text, a sequence number and the
 * padding that OpenAI calls `obfuscation`. Parsing the rest again costs more than everything else
 * that is done for a delta. If a frame is identical outside of these values, only the values are
 * read, and the rest is taken from the parsed frame that it matches. Any other frame is left to the
 * parser.
 */
export interface FramePattern {
  /** Returns true if the frame matched and was emitted. */
  read(data: string): boolean
  /** Whether `learn` is worth calling with a frame that was not read. */
  isLearning(): boolean
  /**
   * Makes a frame with a string under `key` the pattern for later frames. For each match, `emit` is
   * called with the string, the sequence number if there is one, and the raw data. It must have the
   * same effect as reading the whole frame.
   */
  learn(frame: LearnedFrame): void
}

type Emit = (value: string, sequence: number | undefined, data: string) => void

type Fields = Readonly<Record<string, unknown>>

interface LearnedFrame {
  readonly data: string
  /** The parsed data. */
  readonly frame: Fields
  readonly key: string
  /** Gets the value from a frame of this shape. */
  readonly valueIn: (frame: Fields) => unknown
  /** Top-level keys of the frame whose values change too. */
  readonly sequence?: string
  readonly padding?: string
  readonly emit: Emit
}

/** The emitted value, a sequence number, a meaningless string. */
type Hole = 'value' | 'sequence' | 'padding'

interface Pattern {
  /** The text before each hole, and after the last one. */
  readonly literals: readonly string[]
  readonly holes: readonly Hole[]
  /** The value in the frame it was made from. */
  readonly value: unknown
  emit: Emit
  /**
   * A text may look like a field, or a key may occur twice. So a pattern is used only after it has
   * read a second frame, with another value, exactly as the parser did.
   */
  verified: boolean
}

/**
 * Making a pattern costs as much as it saves in about eight frames. A pattern is made on credit, so
 * that frames that are never alike, or alike only in pairs, soon cost nothing more than the parser.
 * Every frame that is parsed after that earns some, for an answer whose later frames are alike.
 */
const patternCost = 1024
const matchEarns = 128
const maxCredit = 8 * patternCost

/**
 * How many frames are parsed before a pattern is made. Most calls and many answers of agents are
 * shorter: for them, patterns would cost more than they save.
 */
const parsedFirst = 32

/** In characters. V8 copies shorter slices. */
const shortestSlice = 13

const quote = 0x22
const backslash = 0x5c

export function framePattern(patience = parsedFirst): FramePattern {
  let pattern: Pattern | undefined
  /** Frames since the last one that was not parsed, or since the last pattern. */
  let parsed = 0
  let credit = maxCredit
  // Results of the latest `fits()`, in variables to avoid allocating an object.
  let value: string | undefined
  let sequence: number | undefined
  let padding: string | undefined
  let escaped = false

  /**
   * -1 if there is no valid number. Leading zeros are invalid, and 16 or more digits would lose
   * precision.
   */
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

  /** -1 if the string is invalid JSON or does not end. */
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
      // Three times as fast as `startsWith`.
      if (data.slice(at, at + literal.length) !== literal) return false
      at += literal.length
      const hole = holes[index]
      if (hole === undefined) return value !== undefined && at === data.length
      const end = hole === 'sequence' ? endOfNumber(data, at) : endOfString(data, at)
      if (end === -1) return false
      if (hole === 'value') value = decodeString(data.slice(at, end), escaped)
      if (hole === 'padding') {
        // Padding has no escapes; if it does, leave the frame to the parser.
        if (escaped) return false
        padding = data.slice(at, end)
      }
      at = end
    }
  }

  return {
    read(data) {
      if (!pattern?.verified || !fits(data, pattern)) return false
      parsed = 0
      if (credit < maxCredit) credit += matchEarns
      pattern.emit(value as string, sequence, data)
      return true
    },

    isLearning() {
      // The second frame, which verifies the pattern.
      if (pattern && !pattern.verified) return true
      if (parsed++ < patience) return false
      if (credit >= patternCost) return true
      credit++
      return false
    },

    learn(learned) {
      const { data, frame, valueIn, emit } = learned
      if (pattern && !pattern.verified && fits(data, pattern)) {
        // The same value again proves nothing.
        if (value === pattern.value && value === valueIn(frame)) return
        const { sequence: number = '', padding: filler = '' } = learned
        pattern.verified = value === valueIn(frame) && sequence === frame[number] && padding === frame[filler]
        pattern.emit = emit
        if (pattern.verified) return
      }
      pattern = undefined
      if (credit < patternCost) return
      credit -= patternCost
      parsed = 0
      pattern = patternOf(learned)
    },
  }
}

function patternOf({
  data,
  frame,
  key,
  valueIn,
  sequence,
  padding,
  emit,
}: LearnedFrame): Pattern | undefined {
  const value = valueIn(frame)
  const position = positionOf(data, 'value', key, value)
  if (!position) return undefined
  const positions = [position]
  for (const [hole, name] of [['sequence', sequence] as const, ['padding', padding] as const]) {
    if (name === undefined || frame[name] === undefined) continue
    const other = positionOf(data, hole, name, frame[name])
    // A field that exists but is not found would be treated as a constant.
    if (!other) return undefined
    positions.push(other)
  }
  positions.sort((one, other) => one.start - other.start)
  const literals: string[] = []
  let at = 0
  for (const { start, end } of positions) {
    literals.push(data.slice(at, start))
    at = end
  }
  literals.push(data.slice(at))
  return { literals, holes: positions.map(({ hole }) => hole), value, emit, verified: false }
}

interface HolePosition {
  readonly hole: Hole
  readonly start: number
  readonly end: number
}

/**
 * Where a value is in the data, or undefined if that is uncertain. For a string: the text between
 * the quotes.
 */
function positionOf(data: string, hole: Hole, key: string, value: unknown): HolePosition | undefined {
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
    // `1e5` starts like 1.
    if (hole === 'sequence' && !/[,}\s]/.test(data[end] ?? '')) return undefined
    return { hole, start: end - written.length + inside, end: end - inside }
  }
  return undefined
}

/**
 * Decodes the text between the quotes of a JSON string; undefined if it is invalid.
 *
 * V8 represents a longer slice as a pointer into its parent string, which would keep a whole socket
 * read in memory. `JSON.parse` returns a separate string.
 */
function decodeString(written: string, escaped: boolean): string | undefined {
  if (written.length < shortestSlice && !escaped) return written
  try {
    return JSON.parse(`"${written}"`)
  } catch {
    return undefined
  }
}
