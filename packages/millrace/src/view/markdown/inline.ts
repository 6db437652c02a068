import { decodeEntities } from './entities.ts'
import type { LinkMatch } from './links.ts'
import { readAngled, readLink, readUrl } from './links.ts'
import { markers, maxHeld } from './markers.ts'
import type { Sink } from './sink.ts'

export interface Inline {
  /** Draws as much as is certain. What may still become a link, code or similar is held back. */
  write(text: string): void
  /** Ends the block. What was held back is drawn as it is. */
  end(): void
  /** The source text that is held back. */
  readonly held: string
}

/**
 * Characters that may end plain text. A blank only before another one or the end, an `h` only at
 * the start of a word.
 */
const special = /[\\`*_~[!<&\n]| (?=[ \n]|$)|(?<![\p{L}\p{N}_])h/giu
const punctuation = /[!-/:-@[-`{-~]/
// The closing backticks must be followed by something else, since more may follow.
const codeSpan = /^(`+)([^`]|[^`].*?[^`])\1(?=[^`])/s

/**
 * Reads the text of one block, each character a bounded number of times. Links cannot be nested. In
 * a table cell `<br>` breaks the line, since there is no other way to; elsewhere it is text like
 * all HTML.
 */
export function inlineText(sink: Sink, inside?: 'link' | 'cell'): Inline {
  const marks = markers(sink)
  /**
   * The text that is held back, from `at` on. Before it the last two characters read: marks depend
   * on what precedes them.
   */
  let buffer = ''
  let at = 0
  /** How many characters were read before the buffer. */
  let passed = 0
  let hasEnded = false

  /**
   * Each reader draws what follows and returns how many characters it took: 0 if it is plain text,
   * undefined to wait.
   */
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
    // CommonMark 0.31, section 6.1: one blank on each side is stripped; it separates backticks.
    const isPadded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== ''
    sink.open('code')
    sink.text(isPadded ? code.slice(1, -1) : code)
    sink.close()
    return taken
  }

  function drawLink(read: (text: string) => LinkMatch, rest: string): number | undefined {
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
    // Both halves of a surrogate pair must have arrived.
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
      if (taken === undefined && !hasEnded && rest.length < maxHeld) break
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
      // Leading blanks of a block are ignored.
      buffer += buffer === '' ? text.trimStart() : text
      read(buffer.length)
    },
    end() {
      hasEnded = true
      // Trailing blanks of a block are ignored. The line end is for readers that look ahead, and is
      // not drawn.
      buffer = `${buffer.replace(/[ \n]+$/, '')}\n`
      read(buffer.length - 1)
      marks.end()
    },
    get held() {
      return buffer.slice(at)
    },
  }
}

/** Draws the text of a heading as it arrives, without the row of `#` that may close it. */
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
