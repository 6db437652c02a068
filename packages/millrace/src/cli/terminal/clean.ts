import { spellUnseen } from '../../tools/index.ts'

// Words from a model or a tool are not trusted with the terminal: they could retitle it, write to the clipboard (OSC 52),
// hide a link's target (OSC 8), move the cursor over what was said before, or have text read backwards.

const orders = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u
const order = new RegExp(`^${orders.source}$`, 'u')

type State = 'text' | 'escape' | 'intermediate' | 'control' | 'string' | 'string-escape'

/** Where a control character leads: ECMA-48, 5.6 and 8.3. The others are simply left out. */
const introducers: Readonly<Record<string, State>> = {
  '\u001B': 'escape',
  '\u009B': 'control',
  '\u0090': 'string',
  '\u0098': 'string',
  '\u009D': 'string',
  '\u009E': 'string',
  '\u009F': 'string',
}

/** The same as two characters: ESC and one of these. */
const afterEscape: Readonly<Record<string, State>> = {
  '[': 'control',
  P: 'string',
  X: 'string',
  ']': 'string',
  '^': 'string',
  _: 'string',
}

/** BEL, ST, and what cancels a sequence: CAN, SUB. */
const endsString = '\u0007\u009C\u0018\u001A'

/** A sequence that is longer is none: what follows is shown. So is what follows a newline, which no honest one contains. */
const longest: Readonly<Partial<Record<State, number>>> = { control: 256, string: 4096 }

/**
 * Cleans text that comes in deltas, wherever they are cut: the same text in any split gives the same. Newlines and tabs stay,
 * escape sequences go with all they contain. Costs next to nothing where there are none.
 */
export function deltaCleaner(): (delta: string) => string {
  let state: State = 'text'
  let length = 0
  // The first half of a character.
  let held = ''

  function enter(next: State) {
    state = next
    length = 0
  }

  /** Takes one character; gives what is to be shown for it. */
  function take(char: string): string {
    const limit = longest[state]
    if (limit !== undefined && ++length > limit) enter('text')
    switch (state) {
      case 'text':
        if (!order.test(char)) return char
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
        // ESC and a backslash end a string; ESC and anything else begin a new sequence.
        if (char === '\\') return pass('text')
        enter('escape')
        return take(char)
    }
  }

  function pass(next: State): '' {
    enter(next)
    return ''
  }

  /** It was no sequence after all, or a broken one. */
  function again(char: string): string {
    enter('text')
    return take(char)
  }

  return (delta) => {
    let text = held + delta
    held = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : ''
    if (held) text = text.slice(0, -1)
    if (state === 'text' && !orders.test(text)) return text
    let shown = ''
    for (const char of text) shown += take(char)
    return shown
  }
}

function isBetween(char: string, first: string, last: string): boolean {
  return char >= first && char <= last
}

/** Cleans a text that is all there. */
export function cleanText(text: string): string {
  return deltaCleaner()(text)
}

/** The same in one line: whatever is white between words becomes one space. */
export function cleanLine(text: string): string {
  return cleanText(text.replaceAll('\r', '\n')).replace(/\s+/g, ' ').trim()
}

/** What a person decides on, in one line: nothing is left out, and what cannot be seen is written out. */
export function spelledLine(text: string): string {
  return spellUnseen(text.replace(/[ \t\r\n]+/g, ' ')).trim()
}
