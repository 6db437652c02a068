import { cleanText } from '../terminal/index.ts'

/** What a key does. Several keys may do the same. */
export type KeyName =
  | 'enter'
  | 'new-line'
  | 'tab'
  | 'escape'
  | 'interrupt'
  | 'end-of-input'
  | 'suspend'
  | 'redraw'
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'start'
  | 'end'
  | 'word-left'
  | 'word-right'
  | 'backspace'
  | 'delete'
  | 'delete-word-left'
  | 'delete-word-right'
  | 'kill-start'
  | 'kill-end'
  | 'yank'

export type Key = { readonly type: 'text' | 'paste'; readonly text: string } | { readonly type: KeyName }

/** Control characters, with their meaning in shells. */
const controls: Readonly<Record<string, KeyName>> = {
  '\x01': 'start',
  '\x02': 'left',
  '\x03': 'interrupt',
  '\x04': 'end-of-input',
  '\x05': 'end',
  '\x06': 'right',
  '\b': 'backspace',
  '\t': 'tab',
  '\n': 'new-line',
  '\x0b': 'kill-end',
  '\f': 'redraw',
  '\r': 'enter',
  '\x0e': 'down',
  '\x10': 'up',
  '\x15': 'kill-start',
  '\x17': 'delete-word-left',
  '\x19': 'yank',
  '\x1a': 'suspend',
  '\x7f': 'backspace',
}

/** The character after ESC: keys pressed with Alt. */
const withAlt: Readonly<Record<string, KeyName>> = {
  b: 'word-left',
  f: 'word-right',
  d: 'delete-word-right',
  '\r': 'new-line',
  '\n': 'new-line',
  '\b': 'delete-word-left',
  '\x7f': 'delete-word-left',
}

/** What follows ESC and `[` or `O` in xterm, the Linux console, rxvt and kitty. */
const sequences: Readonly<Record<string, KeyName>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'start',
  F: 'end',
  M: 'enter',
  '1~': 'start',
  '3~': 'delete',
  '4~': 'end',
  '7~': 'start',
  '8~': 'end',
  '1;3C': 'word-right',
  '1;3D': 'word-left',
  '1;5C': 'word-right',
  '1;5D': 'word-left',
  '5C': 'word-right',
  '5D': 'word-left',
  c: 'word-right',
  d: 'word-left',
  '3;3~': 'delete-word-right',
  '3;5~': 'delete-word-right',
  // Enter with Shift, Alt or Ctrl, if the terminal distinguishes them.
  '13;2u': 'new-line',
  '13;3u': 'new-line',
  '13;5u': 'new-line',
  '27;2;13~': 'new-line',
  '27;3;13~': 'new-line',
  '27;5;13~': 'new-line',
}

const esc = String.fromCharCode(27)
// Bracketed paste: the text between these was pasted, not typed.
const pasteStart = `${esc}[200~`
const pasteEnd = `${esc}[201~`
/** A longer paste is a mistake, and is cut. */
const maxPasteChars = 2 ** 20

const controlSequence = new RegExp(`^${esc}(?:\\[([0-?]*[ -/]*[@-~])|O(.))`)
const partialSequence = new RegExp(`^${esc}(?:${esc}?\\[[0-?]*[ -/]*|${esc}?O?)$`)
const onlyEscapes = new RegExp(`^${esc}+$`)

export interface KeyReader {
  /** Returns the keys in a chunk from the terminal. A partial sequence is kept for the next chunk. */
  push(chunk: string): Key[]
  /** Called when nothing more arrives: a pending ESC is the Escape key. */
  flush(): Key[]
  /** A partial sequence is pending. */
  readonly hasPending: boolean
}

export function keyReader(): KeyReader {
  let buffer = ''
  let pasted: string | undefined

  /** Removes the next key from the buffer. Returns undefined if it is incomplete. */
  function next(): Key[] | undefined {
    if (pasted !== undefined) return paste()
    if (buffer.startsWith(pasteStart)) {
      buffer = buffer.slice(pasteStart.length)
      pasted = ''
      return []
    }
    if (buffer.startsWith(esc)) return escaped()
    const [first = ''] = buffer
    const control = controls[first]
    if (control) return take(1, [{ type: control }])
    const text = /^\P{Cc}+/u.exec(buffer)?.[0]
    return text ? take(text.length, [{ type: 'text', text }]) : take(1, [])
  }

  function take(length: number, keys: Key[]): Key[] {
    buffer = buffer.slice(length)
    return keys
  }

  function escaped(): Key[] | undefined {
    // For Alt and an arrow, some terminals send another ESC first.
    if (buffer.startsWith(`${esc}${esc}[`) && !partialSequence.test(buffer)) return take(1, [])
    const sequence = controlSequence.exec(buffer)
    if (sequence) {
      const name = sequences[sequence[1] ?? sequence[2] ?? '']
      return take(sequence[0].length, name ? [{ type: name }] : [])
    }
    if (partialSequence.test(buffer)) return undefined
    const name = withAlt[buffer[1] ?? '']
    return take(
      buffer[1] === esc ? 1 : 2,
      name ? [{ type: name }] : buffer[1] === esc ? [{ type: 'escape' }] : [],
    )
  }

  function paste(): Key[] | undefined {
    const before = pasted ?? ''
    const text = before + buffer
    const end = text.indexOf(pasteEnd, Math.max(0, before.length - pasteEnd.length))
    buffer = end === -1 ? '' : text.slice(end + pasteEnd.length)
    pasted = end === -1 ? text : undefined
    if (end === -1) return undefined
    const whole = text.slice(0, Math.min(end, maxPasteChars))
    return [{ type: 'paste', text: cleanText(whole.replace(/\r\n?/g, '\n')) }]
  }

  return {
    push(chunk) {
      buffer += chunk
      const keys: Key[] = []
      while (buffer) {
        const more = next()
        if (!more) break
        keys.push(...more)
      }
      return keys
    },
    flush() {
      const keys: Key[] = onlyEscapes.test(buffer) ? [{ type: 'escape' }] : []
      buffer = ''
      return keys
    },
    get hasPending() {
      return buffer !== ''
    },
  }
}
