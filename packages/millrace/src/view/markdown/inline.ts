import { decodeEntities } from './entities.ts'
import type { Found } from './links.ts'
import { readAngled, readLink, readUrl } from './links.ts'
import { markers, maxHeld } from './markers.ts'
import type { Sink } from './sink.ts'

export interface Inline {
  /** Draws as much as is certain; what may still become a link, code or the like is held back until it is known. */
  write(text: string): void
  /** The block is over: what was held back is what it looks like. */
  end(): void
  /** What is held back, as it was written. */
  readonly held: string
}

/** Where plain text ends: at what may mean something. A blank does before another or the end, an `h` where a word begins. */
const special = /[\\`*_~[!<&\n]| (?=[ \n]|$)|(?<![\p{L}\p{N}_])h/giu
const punctuation = /[!-/:-@[-`{-~]/
// What ends the code must be followed by something, or it may grow.
const codeSpan = /^(`+)([^`]|[^`].*?[^`])\1(?=[^`])/s

/**
 * Reads the text of one block, each character of it a bounded number of times. Inside a link there can be no other; in a cell `<br>`
 * breaks the line, since there is no other way to. Elsewhere it is text like all HTML.
 */
export function inlineText(sink: Sink, inside?: 'link' | 'cell'): Inline {
  const marks = markers(sink)
  /** What is held back, and before `at` the two characters that were read last: marks ask what they stand between. */
  let buffer = ''
  let at = 0
  /** How much was read before the buffer. */
  let passed = 0
  let isOver = false

  /** Each of these looks at what follows, draws it, and says how much it has taken: 0 if it means nothing, undefined to wait. */
  const readers: Record<string, (rest: string) => number | undefined> = {
    '\\': (rest) => {
      const next = rest[1]
      if (next === undefined || rest === '\\\n') return undefined
      if (next === '\n') return drawBreak(2)
      return punctuation.test(next) ? drawText(next, 2) : 0
    },
    ' ': readBlanks,
    '\n': readBlanks,
    '`': (rest) => {
      const [all, , code = ''] = codeSpan.exec(rest) ?? []
      return all === undefined ? undefined : drawCode(code.replaceAll('\n', ' '), all.length)
    },
    '*': readMark,
    _: readMark,
    '~': readMark,
    '[': (rest) => drawLink(readLink, rest),
    '!': (rest) => drawLink(readLink, rest),
    '<': (rest) => {
      const lineBreak = inside === 'cell' ? /^<(?:br? *\/?$|br *\/?>)/i.exec(rest)?.[0] : undefined
      if (lineBreak === undefined) return drawLink(readAngled, rest)
      return lineBreak.endsWith('>') ? drawBreak(lineBreak.length) : undefined
    },
    '&': (rest) => {
      const whole = /^&#?[a-z\d]{1,31};/i.exec(rest)?.[0]
      if (whole !== undefined) return drawText(decodeEntities(whole), whole.length)
      return /^&#?[a-z\d]{0,31}$/i.test(rest) ? undefined : 0
    },
    h: (rest) => drawLink(readUrl, rest),
  }

  function drawText(text: string, taken: number): number {
    sink.text(text)
    return taken
  }

  function drawBreak(taken: number): number {
    sink.open('br')
    sink.close()
    return taken
  }

  function drawCode(code: string, taken: number): number {
    // CommonMark 0.31, section 6.1: one blank on each side is there for the ticks' sake.
    const isPadded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== ''
    sink.open('code')
    sink.text(isPadded ? code.slice(1, -1) : code)
    sink.close()
    return taken
  }

  function drawLink(read: (text: string) => Found, rest: string): number | undefined {
    const link = inside === 'link' ? 0 : read(rest)
    if (!link) return link
    sink.open('a', { href: link.href, title: link.title })
    sink.text(link.text)
    writeWhole(inlineText(sink, 'link'), link.label)
    sink.close()
    return link.size
  }

  function readBlanks(rest: string): number | undefined {
    const [all = '', blanks = '', lineEnd = ''] = /^( *)(\n?)/.exec(rest) ?? []
    if (all === rest) return undefined
    return lineEnd !== '' && blanks.length > 1
      ? drawBreak(all.length)
      : drawText(lineEnd || blanks, all.length)
  }

  function readMark(rest: string): number | undefined {
    // Of a character that takes two places both must be there.
    const [, run, char = '', next = ''] = /^(([*_~])\2*)(?!\2|[\ud800-\udbff]$)(.)/su.exec(rest) ?? []
    if (run === undefined) return undefined
    const previous = /.?$/su.exec(buffer.slice(Math.max(0, at - 2), at))?.[0] ?? ''
    marks.read(char, run.length, previous, next, passed + at)
    return run.length
  }

  function read(end: number): void {
    while (at < end) {
      special.lastIndex = at
      const found = special.exec(buffer)
      const start = found?.index ?? end
      sink.text(buffer.slice(at, start))
      at = start
      marks.giveUp(passed + at)
      if (!found || at >= end) break
      const rest = buffer.slice(at, at + maxHeld)
      const taken = readers[found[0].toLowerCase()]?.(rest)
      if (taken === undefined && !isOver && rest.length < maxHeld) break
      const plain = /^([`*_~ ])\1*/.exec(rest)?.[0] ?? rest.charAt(0)
      at += taken || drawText(plain, plain.length)
    }
    const done = Math.max(0, at - 2)
    buffer = buffer.slice(done)
    passed += done
    at -= done
  }

  return {
    write(text) {
      // Blanks at the beginning of a block mean nothing.
      buffer += buffer === '' ? text.trimStart() : text
      read(buffer.length)
    },
    end() {
      isOver = true
      // Blanks at the end of a block mean nothing; the line end is there for those who look at what follows, and is not drawn.
      buffer = `${buffer.replace(/[ \n]+$/, '')}\n`
      read(buffer.length - 1)
      marks.end()
    },
    get held() {
      return buffer.slice(at)
    },
  }
}

/** Draws the text of a heading as it comes, without the row of `#` that may close it. */
export function headingText(inline: Inline): Inline {
  let held = ' '
  return {
    write(text) {
      held += text
      const from = Math.max(0, held.length - maxHeld)
      const close = held.slice(from).search(/[ \t]+(?:#+[ \t]*)?$/)
      const end = close < 0 ? held.length : from + close
      inline.write(held.slice(0, end))
      held = held.slice(end)
    },
    end: () => inline.end(),
    get held() {
      return inline.held + held
    },
  }
}

export function writeWhole(inline: Inline, text: string): void {
  inline.write(text)
  inline.end()
}
