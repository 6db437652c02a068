import type { JsonValue } from './json.ts'

/**
 * The maximum nesting of arrays and objects: more than any tool needs, too little to overflow a
 * recursive reader.
 */
export const maxJsonDepth = 256

/**
 * Parses JSON (RFC 8259, exactly what `JSON.parse` accepts) while it is still arriving.
 *
 * What `value` has of an unfinished text: objects and arrays from the moment they open, string
 * values as far as they have arrived, but keys, numbers and literals only once they are complete.
 * The end of a string is held back while it is an incomplete escape, or a high surrogate whose
 * other half may follow. So the value depends on the text alone, never on how it was split.
 */
export interface PartialJson {
  /**
   * Adds the next piece. The cost depends on this piece alone. Never throws; does nothing after
   * `end`.
   */
  push(delta: string): void
  /**
   * The value so far: a live view that grows in place (copy it to keep it), `undefined` while
   * nothing is known.
   */
  readonly value: JsonValue | undefined
  /**
   * The value is complete, with only whitespace after it. A top-level number ends at whitespace or
   * `end`.
   */
  readonly complete: boolean
  /**
   * Set as soon as no continuation can make the text valid; the value stays, and further pieces are
   * ignored.
   */
  readonly problem: string | undefined
  /**
   * Ends the text and returns the finished value, or what is wrong with it. May be called twice.
   */
  end(): { readonly value: JsonValue; readonly problem?: undefined } | { readonly problem: string }
}

type Container = JsonValue[] | Record<string, JsonValue>

/** What the next character is part of, or what must come next. `over`: failed or ended. */
type State =
  | ('string' | 'escape' | 'literal' | 'number')
  | ('value' | 'value-or-close' | 'key' | 'key-or-close' | 'colon' | 'comma-or-close' | 'done')
  | 'over'

const literals = ['true', 'false', 'null']
const wholeEscape = /^(?:["\\/bfnrt]|u[\da-fA-F]{4})$/
const halfEscape = /^u[\da-fA-F]{0,3}$/

// RFC 8259, section 6: the transitions between parts of a number; '1' stands for the digits 1 to 9.
const numberParts = {
  start: { '-': 'minus', '0': 'zero', '1': 'whole' },
  minus: { '0': 'zero', '1': 'whole' },
  zero: { '.': 'point', e: 'e' },
  whole: { '0': 'whole', '1': 'whole', '.': 'point', e: 'e' },
  point: { '0': 'fraction', '1': 'fraction' },
  fraction: { '0': 'fraction', '1': 'fraction', e: 'e' },
  e: { '+': 'sign', '-': 'sign', '0': 'exponent', '1': 'exponent' },
  sign: { '0': 'exponent', '1': 'exponent' },
  exponent: { '0': 'exponent', '1': 'exponent' },
} as const

type NumberPart = keyof typeof numberParts

const lastParts: ReadonlySet<NumberPart> = new Set(['zero', 'whole', 'fraction', 'exponent'])

function nextPart(part: NumberPart, char: string): NumberPart | undefined {
  const steps: Partial<Record<string, NumberPart>> = numberParts[part]
  if (char >= '1' && char <= '9') return steps['1']
  return steps[char === 'E' ? 'e' : char]
}

const isSpace = (char: string) => char === ' ' || char === '\n' || char === '\r' || char === '\t'
/** Ends a run of plain characters in a string: a quote, a backslash or a control character. */
const isSpecial = (code: number) => code === 0x22 || code === 0x5c || code < 0x20
const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff

export function partialJson({ maxDepth = maxJsonDepth }: { maxDepth?: number } = {}): PartialJson {
  let state: State = 'value'
  let position = 0
  const open: Container[] = []
  /** The innermost open container. */
  let container: Container | undefined
  let key = ''
  let inKey = false
  /**
   * The string, number or literal being read. A string grows by `+=`, which V8 does without copying
   * as long as its characters are not accessed: only the new piece is ever examined.
   */
  let text = ''
  /**
   * A high surrogate at the end of the string, kept out of `text` until the next character arrives.
   */
  let held = ''
  let escaped = ''
  let part: NumberPart = 'start'

  function fail(what: string) {
    parser.problem = `${what} at position ${position}`
    state = 'over'
  }

  const unexpected = (char: string) => fail(`unexpected ${JSON.stringify(char)}`)
  const closer = () => (Array.isArray(container) ? ']' : '}')

  function place(value: JsonValue) {
    if (container === undefined) parser.value = value
    else if (Array.isArray(container)) container.push(value)
    // Defined, not assigned: `__proto__` is a key like any other. A repeated key keeps its
    // position, as in JSON.parse.
    else
      Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true })
  }

  function closeValue() {
    state = container === undefined ? 'done' : 'comma-or-close'
  }

  function openContainer(opened: Container) {
    if (open.length >= maxDepth) return fail(`nested deeper than ${maxDepth} levels`)
    place(opened)
    open.push(opened)
    container = opened
    state = Array.isArray(opened) ? 'value-or-close' : 'key-or-close'
  }

  function closeContainer() {
    open.pop()
    container = open.at(-1)
    closeValue()
  }

  function openString(isKey: boolean) {
    inKey = isKey
    text = ''
    if (!inKey) place('')
    state = 'string'
  }

  function showText() {
    if (inKey) return
    if (container === undefined) parser.value = text
    else if (Array.isArray(container)) container[container.length - 1] = text
    // `place` made it an own property, so even `__proto__` can be assigned.
    else container[key] = text
  }

  function appendText(piece: string) {
    const holds = isHighSurrogate(piece.charCodeAt(piece.length - 1))
    text += held + (holds ? piece.slice(0, -1) : piece)
    held = holds ? piece.slice(-1) : ''
    showText()
  }

  function closeString() {
    text += held
    held = ''
    showText()
    if (!inKey) return closeValue()
    key = text
    state = 'colon'
  }

  function closeNumber(next: string) {
    const mayFollow = isSpace(next) || (container !== undefined && (next === ',' || next === closer()))
    if (!lastParts.has(part) || !mayFollow) return unexpected(next)
    place(Number(text))
    closeValue()
  }

  function openValue(char: string) {
    if (char === '"') return openString(false)
    if (char === '{') return openContainer({})
    if (char === '[') return openContainer([])
    const first = nextPart('start', char)
    if (first !== undefined) {
      part = first
      state = 'number'
    } else if (literals.some((word) => word.startsWith(char))) {
      state = 'literal'
    } else return unexpected(char)
    text = char
  }

  function readInString(char: string) {
    if (char === '"') closeString()
    else if (char !== '\\') unexpected(char)
    else {
      escaped = ''
      state = 'escape'
    }
  }

  function readInEscape(char: string) {
    escaped += char
    if (halfEscape.test(escaped)) return
    if (!wholeEscape.test(escaped)) return unexpected(char)
    appendText(JSON.parse(`"\\${escaped}"`))
    state = 'string'
  }

  function readInLiteral(char: string) {
    text += char
    if (!literals.some((word) => word.startsWith(text))) return unexpected(char)
    if (!literals.includes(text)) return
    place(JSON.parse(text))
    closeValue()
  }

  function readBetween(char: string) {
    const mayClose = state === 'comma-or-close' || state === 'value-or-close' || state === 'key-or-close'
    if (mayClose && char === closer()) closeContainer()
    else if (state === 'value' || state === 'value-or-close') openValue(char)
    else if ((state === 'key' || state === 'key-or-close') && char === '"') openString(true)
    else if (state === 'colon' && char === ':') state = 'value'
    else if (state === 'comma-or-close' && char === ',') state = Array.isArray(container) ? 'value' : 'key'
    else unexpected(char)
  }

  function readChar(char: string) {
    if (state === 'number') closeNumber(char)
    if (state === 'over') return
    if (state === 'string') readInString(char)
    else if (state === 'escape') readInEscape(char)
    else if (state === 'literal') readInLiteral(char)
    else if (!isSpace(char)) readBetween(char)
  }

  /**
   * Reads a run of plain string characters or number characters from `at` on; returns where it
   * ends.
   */
  function readRun(delta: string, at: number): number {
    let end = at
    if (state === 'string') {
      while (end < delta.length && !isSpecial(delta.charCodeAt(end))) end += 1
      if (end > at) appendText(delta.slice(at, end))
    } else if (state === 'number') {
      for (; end < delta.length; end += 1) {
        const next = nextPart(part, delta.charAt(end))
        if (next === undefined) break
        part = next
      }
      text += delta.slice(at, end)
    }
    return end
  }

  const parser = {
    value: undefined as JsonValue | undefined,
    complete: false,
    problem: undefined as string | undefined,
    push(delta: string) {
      for (let at = 0; at < delta.length && state !== 'over'; ) {
        const end = readRun(delta, at)
        position += end - at
        at = end
        if (at === delta.length) break
        readChar(delta.charAt(at))
        position += 1
        at += 1
      }
      parser.complete = state === 'done' || (state === 'over' && parser.problem === undefined)
    },
    end() {
      // The end of the text completes a top-level number, as whitespace would.
      if (state === 'number' && container === undefined && lastParts.has(part)) closeNumber(' ')
      if (state === 'done') state = 'over'
      else if (state !== 'over') fail('unexpected end of text')
      const { value, problem } = parser
      parser.complete = problem === undefined
      return problem === undefined ? { value: value as JsonValue } : { problem }
    },
  }
  return parser
}
