import { cleaner } from './clean.ts'
import { containersOf } from './containers.ts'
import type { Place } from './indent.ts'
import { indentAt, lineStart, skipColumns } from './indent.ts'
import type { Inline } from './inline.ts'
import { headingText, inlineText, writeWhole } from './inline.ts'
import type { Start } from './line-start.ts'
import { plain, readClosing, readStart } from './line-start.ts'
import type { Align, Sink } from './sink.ts'
import { tableRow } from './table-row.ts'

type Table = { readonly kind: 'table'; readonly aligns: readonly Align[]; inline: Inline | undefined }
/** `fence` is empty if it is code by its indentation. `lineEnds` are drawn when another line comes. */
type Code = {
  readonly kind: 'code'
  readonly fence: string
  readonly indent: number
  readonly inline: undefined
  lineEnds: number
}
/** What holds text and no other block. */
type Leaf = { readonly kind: 'paragraph' | 'heading'; readonly inline: Inline } | Table | Code

export interface MarkdownParser {
  /** Takes the next piece, at a cost that depends on this piece alone. */
  write(piece: string): void
  /** No more will come: what was held back is drawn. May be called twice. */
  end(): void
  /** What was read and not drawn, as it was written: the end of the block that is open, and the beginning of the next line. */
  readonly held: { readonly text: string; readonly line: string }
}

/**
 * Reads Markdown while it is still being written, and draws it as soon as it is certain: the words of a paragraph as they come,
 * the beginning of a line when it is clear what it begins. What is drawn does not depend on how the text was cut.
 *
 * It is CommonMark with the tables, task lists, strikethrough and autolinks of GitHub, but for what would change what has been drawn:
 * a line of dashes under a paragraph is a rule and no heading, a link names its address itself (no references), and the rows of a table
 * begin with a pipe. HTML is text.
 */
export function markdownParser(sink: Sink): MarkdownParser {
  const clean = cleaner()
  const containers = containersOf(sink)
  let leaf: Leaf | undefined
  let buffer = ''
  /**
   * - `fresh`: nothing of the line has been read
   * - `opened`: it has opened a container, in which something may begin
   * - `inside`: what comes is text of the leaf, if there is one
   */
  let state: 'fresh' | 'opened' | 'inside' = 'fresh'
  let isOver = false
  let wasBlank = false

  function take(size: number, next: 'opened' | 'inside' = 'inside'): true {
    buffer = buffer.slice(size)
    state = next
    return true
  }

  /** Reads how the line begins, or goes on behind a container that it opened. False while that is not certain yet. */
  function beginLine(): boolean {
    const found = state === 'fresh' ? containers.match(buffer) : { kept: containers.depth, place: lineStart }
    const indent = found && indentAt(buffer, found.place)
    if (!indent) return false
    const { kept, place } = found
    const { width, textAt } = indent
    const first = buffer[textAt]
    // The leaf goes on only where it is; but a paragraph does so wherever nothing else begins.
    const here = kept === containers.depth ? leaf : undefined
    if (here?.kind === 'code' && here.fence !== '') return goOnInFence(here, place, width, textAt)
    if (first === '\n') return beginBlank(kept, textAt)
    if (here?.kind === 'table' && first === '|' && width < 4) {
      here.inline = tableRow(sink, 'td', here.aligns)
      return take(textAt)
    }
    if (width > 3 && leaf?.kind !== 'paragraph') return goOnIndented(here, kept, place)
    const start = width > 3 ? plain : (readStart(buffer.slice(textAt)) ?? (isOver ? plain : undefined))
    if (!start) return false
    if (leaf?.kind === 'paragraph' && (start.kind === 'text' || (here && isWeak(start)))) {
      leaf.inline.write('\n')
      return take(textAt)
    }
    settle(kept, start)
    return open(start, width, textAt)
  }

  /** Closes what the line is not inside of any more. */
  function settle(kept: number, start: Start): void {
    closeTo(kept)
    if (wasBlank) containers.loosen(start.kind === 'item' ? start.mark : undefined)
    wasBlank = false
  }

  function closeTo(depth: number): void {
    if (leaf) {
      leaf.inline?.end()
      leaf = undefined
      sink.close()
    }
    containers.closeTo(depth)
  }

  function beginBlank(kept: number, at: number): true {
    if (leaf?.kind === 'code' && kept === containers.depth) leaf.lineEnds++
    else closeTo(kept)
    wasBlank = state === 'fresh'
    if (wasBlank && !leaf) sink.blank?.()
    return take(at)
  }

  function goOnIndented(here: Leaf | undefined, kept: number, place: Place): true {
    if (here?.kind === 'code') return goOnWithCode(here, place)
    settle(kept, plain)
    containers.leaveList()
    return goOnWithCode(openCode('', 4, {}), place)
  }

  function goOnInFence(code: Code, place: Place, width: number, textAt: number): boolean {
    const closing = width > 3 ? 0 : readClosing(buffer.slice(textAt), code.fence)
    if (closing === undefined) return false
    if (closing === 0) return goOnWithCode(code, place)
    closeTo(containers.depth)
    return take(textAt + closing)
  }

  function goOnWithCode(code: Code, place: Place): true {
    const { at, pad } = skipColumns(buffer, place, code.indent)
    sink.text('\n'.repeat(code.lineEnds) + ' '.repeat(pad))
    code.lineEnds = 1
    return take(at)
  }

  /** Opens what the line begins with; what that leaves of the line is read next. */
  function open(start: Start, indent: number, at: number): true {
    const end = at + start.size
    if (start.kind === 'item' && !containers.isFull) {
      containers.openItem(start, indent)
      if (start.isDone === undefined) return take(end, 'opened')
      openParagraph()
      sink.open('task', { done: start.isDone })
      sink.close()
      return take(end)
    }
    containers.leaveList()
    if (start.kind === 'quote' && !containers.isFull) {
      containers.openQuote()
      return take(end, 'opened')
    }
    if (start.kind === 'heading') {
      sink.open(`h${start.level}`)
      leaf = { kind: 'heading', inline: headingText(inlineText(sink)) }
    } else if (start.kind === 'fence') {
      openCode(start.fence, indent, { info: start.info })
    } else if (start.kind === 'table') {
      sink.open('table')
      writeWhole(tableRow(sink, 'th', start.aligns), start.head)
      leaf = { kind: 'table', aligns: start.aligns, inline: undefined }
    } else if (start.kind === 'rule') {
      sink.open('hr')
      sink.close()
    } else {
      openParagraph()
      return take(at)
    }
    return take(end)
  }

  function openParagraph(): void {
    sink.open('p')
    leaf = { kind: 'paragraph', inline: inlineText(sink) }
  }

  function openCode(fence: string, indent: number, detail: { info?: string }): Code {
    sink.open('pre', detail)
    const code: Code = { kind: 'code', fence, indent, inline: undefined, lineEnds: 0 }
    leaf = code
    return code
  }

  /** Up to the end of the line, or as far as it has come. */
  function readText(): true {
    const end = buffer.indexOf('\n')
    const text = end < 0 ? buffer : buffer.slice(0, end)
    if (leaf?.kind === 'code') sink.text(text)
    else leaf?.inline?.write(text)
    buffer = buffer.slice(text.length + 1)
    if (end >= 0) endLine()
    return true
  }

  function endLine(): void {
    state = 'fresh'
    if (leaf?.kind === 'heading') closeTo(containers.depth)
    if (leaf?.kind !== 'table') return
    leaf.inline?.end()
    leaf.inline = undefined
  }

  function read(): void {
    let goesOn = true
    while (goesOn && buffer !== '') goesOn = state === 'inside' ? readText() : beginLine()
  }

  return {
    write(piece) {
      buffer += clean.write(piece)
      read()
    },
    end() {
      if (isOver) return
      isOver = true
      buffer += clean.end()
      // Whatever is held back has a line end behind it then, and is decided.
      if (buffer !== '' || state !== 'fresh') buffer += '\n'
      read()
      closeTo(0)
    },
    get held() {
      return { text: leaf?.inline?.held ?? '', line: buffer }
    },
  }
}

/** CommonMark 0.31, section 5.2: an empty item, or a number other than 1, does not cut a paragraph in two. */
const isWeak = (start: Start) => start.kind === 'item' && (start.isEmpty || (start.number ?? 1) !== 1)
