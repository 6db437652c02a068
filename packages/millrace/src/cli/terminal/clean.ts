import { escapeInvisible } from '../../tools/index.ts'

// Text from a model or a tool is not trusted: it could change the terminal's title, write to the
// clipboard (OSC 52), hide the target of a link (OSC 8), overwrite earlier output, or reverse text.

const unsafe = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u
const unsafeChar = new RegExp(`^${unsafe.source}$`, 'u')

type State = 'text' | 'escape' | 'intermediate' | 'control' | 'string' | 'string-escape'

/** Control characters that start a sequence: ECMA-48, 5.6 and 8.3. All others are dropped. */
const introducers: Readonly<Record<string, State>> = {
  '\u001B': 'escape',
  '\u009B': 'control',
  '\u0090': 'string',
  '\u0098': 'string',
  '\u009D': 'string',
  '\u009E': 'string',
  '\u009F': 'string',
}

/** The same as two characters: ESC followed by one of these. */
const afterEscape: Readonly<Record<string, State>> = {
  '[': 'control',
  P: 'string',
  X: 'string',
  ']': 'string',
  '^': 'string',
  _: 'string',
}

/** BEL, ST, and CAN and SUB, which cancel a sequence. */
const endsString = '\u0007\u009C\u0018\u001A'

/** After this length, or at a newline, the text is shown again: no real sequence is that long. */
const maxSequenceLength: Readonly<Partial<Record<State, number>>> = { control: 256, string: 4096 }

/**
 * Cleans text that arrives in deltas. The result does not depend on where the text is split. Newlines
 * and tabs are kept; escape sequences are removed with all they contain. Text without any costs next
 * to nothing.
 */
export function deltaCleaner(): (delta: string) => string {
  let state: State = 'text'
  let length = 0
  // The first half of a surrogate pair.
  let held = ''

  function enter(next: State) {
    state = next
    length = 0
  }

  /** Returns what to show for one character. */
  function take(char: string): string {
    const limit = maxSequenceLength[state]
    if (limit !== undefined && ++length > limit) enter('text')
    switch (state) {
      case 'text':
        if (!unsafeChar.test(char)) return char
        enter(introducers[char] ?? 'text')
        return char === '\u2028' || char === '\u2029' ? '\n' : ''
      case 'escape':
        if (isBetween(char, ' ', '/')) return pass('intermediate')
        return isBetween(char, '0', '~') ? pass(afterEscape[char] ?? 'text') : again(char)
      case 'intermediate':
        if (isBetween(char, ' ', '/')) return ''
        return isBetween(char, '0', '~') ? pass('text') : again(char)
      case 'control':
        if (isBetween(char, ' ', '?')) return ''
        return isBetween(char, '@', '~') ? pass('text') : again(char)
      case 'string':
        if (char === '\n') return again(char)
        if (char === '\u001B') state = 'string-escape'
        return endsString.includes(char) ? pass('text') : ''
      case 'string-escape':
        // ESC and a backslash end a string; ESC and anything else start a new sequence.
        if (char === '\\') return pass('text')
        enter('escape')
        return take(char)
    }
  }

  function pass(next: State): '' {
    enter(next)
    return ''
  }

  /** Not a sequence after all, or a broken one. */
  function again(char: string): string {
    enter('text')
    return take(char)
  }

  return (delta) => {
    let text = held + delta
    held = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : ''
    if (held) text = text.slice(0, -1)
    if (state === 'text' && !unsafe.test(text)) return text
    let shown = ''
    for (const char of text) shown += take(char)
    return shown
  }
}

function isBetween(char: string, first: string, last: string): boolean {
  return char >= first && char <= last
}

/** Cleans a complete text. */
export function cleanText(text: string): string {
  return deltaCleaner()(text)
}

/** Cleans a text and joins it into one line, with single spaces. */
export function cleanLine(text: string): string {
  return cleanText(text.replaceAll('\r', '\n')).replace(/\s+/g, ' ').trim()
}

/** For text that the user decides on: one line, nothing left out, invisible characters escaped. */
export function escapedLine(text: string): string {
  return escapeInvisible(text.replace(/[ \t\r\n]+/g, ' ')).trim()
}
