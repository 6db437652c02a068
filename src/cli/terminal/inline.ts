import type { Span } from './style.ts'
import { style } from './style.ts'

/**
 * - `more`: the line may go on
 * - `ended`: it does not, so marks that are still open were no marks
 * - `guess`: it goes on, and is to be shown as far as it has come: what is open will most likely be closed
 */
type Mode = 'more' | 'ended' | 'guess'

export interface InlineOptions {
  readonly mode: Mode
  /** Of everything in it. */
  readonly base?: number
  /** The character before the text, if there is one. */
  readonly before?: string | undefined
}

export interface Inline {
  readonly spans: readonly Span[]
  /** How much of the text is decided, in UTF-16 units. The rest is to come again, with more behind it. */
  readonly used: number
}

/**
 * Marks that are not closed within so many characters were none. Whether they were is known soon, then, and to look for the
 * end of one costs no more than that.
 */
const farthest = 1000

/** What a mark at this place comes to: spans and where it ends; nothing, if it is text; `open`, if more has to be seen. */
type Found = { readonly spans: readonly Span[]; readonly end: number } | 'open' | undefined

const marks = /[\\`*_~[!]/g
const punctuation = /[\p{P}\p{S}]/u
const white = /\s/u
const wordlike = /[\p{L}\p{N}]/u

/** Reads emphasis, code, links and escapes in a line of Markdown, or in its beginning. Nothing but marks is left out. */
export function readInline(text: string, { mode, base = style.plain, before }: InlineOptions): Inline {
  const spans: Span[] = []
  let at = 0
  while (at < text.length) {
    marks.lastIndex = at
    const next = marks.exec(text)?.index ?? text.length
    if (next > at) spans.push({ text: text.slice(at, next), style: base })
    at = next
    if (at === text.length) break
    const found = readMark(text, at, { mode, base, before: at === 0 ? before : charBefore(text, at) })
    if (found === 'open') return { spans, used: at }
    if (found) {
      spans.push(...found.spans)
      at = found.end
    } else {
      const run = runAt(text, at)
      spans.push({ text: run, style: base })
      at += run.length
    }
  }
  return { spans, used: at }
}

type MarkOptions = Required<Omit<InlineOptions, 'before'>> & Pick<InlineOptions, 'before'>

function readMark(text: string, at: number, options: MarkOptions): Found {
  const run = runAt(text, at)
  const after = text[at + run.length]
  // Whether it is a mark depends on what comes behind it.
  if (after === undefined && options.mode === 'more' && run.length < farthest) return 'open'
  switch (text[at]) {
    case '\\':
      return readEscape(text, at, options)
    case '`':
      return readCode(text, at, run.length, options)
    case '[':
      return readLink(text, at, at, options)
    case '!':
      return after === '[' ? readLink(text, at, at + 1, options) : undefined
    default:
      return readEmphasis(text, at, run, options)
  }
}

/** All of the same mark that stand side by side. A bracket, an escape stand for themselves. */
function runAt(text: string, at: number): string {
  const mark = text[at] as string
  let end = at + 1
  if ('`*_~'.includes(mark)) while (text[end] === mark && end - at < farthest) end++
  return text.slice(at, end)
}

function readEscape(text: string, at: number, { base }: MarkOptions): Found {
  const next = text[at + 1]
  return next !== undefined && /[!-/:-@[-`{-~]/.test(next)
    ? { spans: [{ text: next, style: base }], end: at + 2 }
    : undefined
}

/** A run of backticks is closed by one as long as itself. */
function readCode(text: string, at: number, size: number, { mode, base }: MarkOptions): Found {
  const near = text.slice(at, at + farthest)
  const open = mode === 'more' && near.length < farthest
  const end = codeEnd(near, size, size)
  // A run at the end may still grow.
  if (open && (end === undefined || end + size === near.length)) return 'open'
  const code = (inside: string) => [{ text: inside, style: base | style.cyan }]
  if (end !== undefined) return { spans: code(codeText(near.slice(size, end))), end: at + end + size }
  if (mode !== 'guess' || near.length === farthest) return undefined
  return { spans: code(near.slice(size)), end: text.length }
}

function codeEnd(near: string, from: number, size: number): number | undefined {
  for (let at = near.indexOf('`', from); at !== -1; ) {
    const run = runAt(near, at)
    if (isCutOff(near, at + run.length)) return undefined
    if (run.length === size) return at
    at = near.indexOf('`', at + run.length)
  }
  return undefined
}

/** What stands at the end of all that is looked at is not seen whole, so it closes nothing. */
function isCutOff(near: string, end: number): boolean {
  return near.length === farthest && end === farthest
}

/** CommonMark 6.1: one space on either side belongs to the marks. */
function codeText(text: string): string {
  return /^ .* $/.test(text) && text.trim() ? text.slice(1, -1) : text
}

const label = '\\[((?:[^[\\]\\\\]|\\\\.)*)'
const target = '[^()\\s<>]*(?:\\([^()\\s]*\\)[^()\\s<>]*)*'
const link = new RegExp(`${label}\\]\\(<?(${target})>?(?:\\s+"[^"]*")?\\)`, 'y')
/** Any beginning of one. */
const linkSoFar = new RegExp(
  `${label}(?:\\\\?$|\\](?:$|\\(<?${target}(?:\\([^()\\s]*$|>?\\s*$|>?\\s+"[^"]*"?$)))`,
  'y',
)

/** Shows where a link goes: what its words say proves nothing. */
function readLink(text: string, start: number, at: number, { mode, base, before }: MarkOptions): Found {
  const near = text.slice(at, at + farthest)
  link.lastIndex = 0
  const match = link.exec(near)
  if (match) {
    const [whole, words = '', url = ''] = match
    const shown = readInline(words, { mode: 'ended', base: base | style.underline, before })
    const where = url === words || !url ? [] : [{ text: ` (${url})`, style: base | style.dim }]
    return { spans: [...shown.spans, ...where], end: at + whole.length }
  }
  linkSoFar.lastIndex = 0
  if (mode === 'ended' || near.length === farthest || !linkSoFar.test(near)) return undefined
  return mode === 'more' ? 'open' : { spans: [{ text: text.slice(start), style: base }], end: text.length }
}

const emphasis: Readonly<Record<string, number>> = {
  '*': style.italic,
  '**': style.bold,
  '***': style.bold | style.italic,
  _: style.italic,
  __: style.bold,
  ___: style.bold | style.italic,
  '~~': style.strike,
}

/** CommonMark 6.2, by its flanking rules, within one line. */
function readEmphasis(text: string, at: number, run: string, { mode, base, before }: MarkOptions): Found {
  const look = emphasis[run]
  if (look === undefined || !opens(run, before, charAt(text, at + run.length))) return undefined
  const near = text.slice(at, at + farthest)
  const end = emphasisEnd(near, run, mode)
  if (end === 'open') return 'open'
  const inside = { base: base | look, before: run }
  if (end !== undefined) {
    const { spans } = readInline(near.slice(run.length, end), { ...inside, mode: 'ended' })
    return { spans, end: at + end + run.length }
  }
  // Of several that are open, one of a kind is enough of a guess.
  if (mode !== 'guess' || near.length === farthest || base & look) return undefined
  return { ...readInline(near.slice(run.length), { ...inside, mode }), end: text.length }
}

function emphasisEnd(near: string, run: string, mode: Mode): number | 'open' | undefined {
  const open = mode === 'more' && near.length < farthest
  const mark = run.charAt(0)
  let at = run.length
  while (at < near.length) {
    const char = near.charAt(at)
    if (char === '\\') at += 2
    else if (char === '`') {
      const ticks = runAt(near, at).length
      const end = codeEnd(near, at + ticks, ticks)
      if (end === undefined && open) return 'open'
      at = (end ?? at) + ticks
    } else if (char === mark) {
      const size = runAt(near, at).length
      const fits = size === run.length || (size === 3 && mark !== '~')
      if (fits && near[at - 1] !== ' ' && !isCutOff(near, at + size)) {
        const after = charAt(near, at + size)
        // It may still grow, or be followed by what makes it none.
        if (after === undefined && open) return 'open'
        if (closes(mark, charBefore(near, at), after)) return at + size - run.length
      }
      at += size
    } else at++
  }
  return open ? 'open' : undefined
}

function opens(run: string, before: string | undefined, after: string | undefined): boolean {
  if (after === undefined || white.test(after)) return false
  if (punctuation.test(after) && !isEdge(before)) return false
  return !run.startsWith('_') || before === undefined || !wordlike.test(before)
}

function closes(mark: string, before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || white.test(before)) return false
  if (punctuation.test(before) && !isEdge(after)) return false
  return mark !== '_' || after === undefined || !wordlike.test(after)
}

function isEdge(char: string | undefined): boolean {
  return char === undefined || white.test(char) || punctuation.test(char)
}

/** Whole characters, also those of two units. */
function charAt(text: string, at: number): string | undefined {
  const code = text.codePointAt(at)
  return code === undefined ? undefined : String.fromCodePoint(code)
}

function charBefore(text: string, at: number): string | undefined {
  if (at === 0) return undefined
  return /[\uDC00-\uDFFF]/.test(text.charAt(at - 1)) ? charAt(text, at - 2) : text.charAt(at - 1)
}
