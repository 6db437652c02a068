import { cleanText } from '../terminal/index.ts'

/** What a key asks for. Several may ask for the same. */
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

/** Control characters, as every shell has them. */
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

/** What comes after ESC: keys held with Alt. */
const withAlt: Readonly<Record<string, KeyName>> = {
  b: 'word-left',
  f: 'word-right',
  d: 'delete-word-right',
  '\r': 'new-line',
  '\n': 'new-line',
  '\b': 'delete-word-left',
  '\x7f': 'delete-word-left',
}

/** What comes after ESC and `[` or `O`, as xterm, the Linux console, rxvt and kitty send it. */
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
  // Enter with Shift, Alt or Ctrl, where the terminal tells them apart.
  '13;2u': 'new-line',
  '13;3u': 'new-line',
  '13;5u': 'new-line',
  '27;2;13~': 'new-line',
  '27;3;13~': 'new-line',
  '27;5;13~': 'new-line',
}

const esc = String.fromCharCode(27)
// Bracketed paste: what stands between these was not typed.
const pasteStart = `${esc}[200~`
const pasteEnd = `${esc}[201~`
/** More than this is cut: nobody meant to. */
const longestPaste = 2 ** 20

const controlSequence = new RegExp(`^${esc}(?:\\[([0-?]*[ -/]*[@-~])|O(.))`)
const halfSequence = new RegExp(`^${esc}(?:${esc}?\\[[0-?]*[ -/]*|${esc}?O?)$`)
const onlyEscapes = new RegExp(`^${esc}+$`)

export interface KeyReader {
  /** Takes what the terminal has sent; gives the keys in it. A sequence that is cut waits for its rest. */
  push(chunk: string): Key[]
  /** Nothing more came: an ESC that waits was the key of that name. */
  flush(): Key[]
  /** Something waits. */
  readonly waits: boolean
}

export function keyReader(): KeyReader {
  let held = ''
  let pasted: string | undefined

  /** Takes one key off the front; undefined if it is not all there. */
  function next(): Key[] | undefined {
    if (pasted !== undefined) return paste()
    if (held.startsWith(pasteStart)) {
      held = held.slice(pasteStart.length)
      pasted = ''
      return []
    }
    if (held.startsWith(esc)) return escaped()
    const [first = ''] = held
    const control = controls[first]
    if (control) return take(1, [{ type: control }])
    const text = /^\P{Cc}+/u.exec(held)?.[0]
    return text ? take(text.length, [{ type: 'text', text }]) : take(1, [])
  }

  function take(length: number, keys: Key[]): Key[] {
    held = held.slice(length)
    return keys
  }

  function escaped(): Key[] | undefined {
    // Alt and an arrow: some terminals put another ESC before it.
    if (held.startsWith(`${esc}${esc}[`) && !halfSequence.test(held)) return take(1, [])
    const sequence = controlSequence.exec(held)
    if (sequence) {
      const name = sequences[sequence[1] ?? sequence[2] ?? '']
      return take(sequence[0].length, name ? [{ type: name }] : [])
    }
    if (halfSequence.test(held)) return undefined
    const name = withAlt[held[1] ?? '']
    return take(
      held[1] === esc ? 1 : 2,
      name ? [{ type: name }] : held[1] === esc ? [{ type: 'escape' }] : [],
    )
  }

  function paste(): Key[] | undefined {
    const before = pasted ?? ''
    const text = before + held
    const end = text.indexOf(pasteEnd, Math.max(0, before.length - pasteEnd.length))
    held = end === -1 ? '' : text.slice(end + pasteEnd.length)
    pasted = end === -1 ? text : undefined
    if (end === -1) return undefined
    const whole = text.slice(0, Math.min(end, longestPaste))
    return [{ type: 'paste', text: cleanText(whole.replace(/\r\n?/g, '\n')) }]
  }

  return {
    push(chunk) {
      held += chunk
      const keys: Key[] = []
      while (held) {
        const more = next()
        if (!more) break
        keys.push(...more)
      }
      return keys
    },
    flush() {
      const keys: Key[] = onlyEscapes.test(held) ? [{ type: 'escape' }] : []
      held = ''
      return keys
    },
    get waits() {
      return held !== ''
    },
  }
}
