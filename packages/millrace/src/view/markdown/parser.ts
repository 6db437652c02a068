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
/** `fence` is empty for indented code. `lineEnds` are drawn when another line follows. */
type Code = {
  readonly kind: 'code'
  readonly fence: string
  readonly indent: number
  readonly inline: undefined
  lineEnds: number
}
/** A block that holds text and no other blocks. */
type Leaf = { readonly kind: 'paragraph' | 'heading'; readonly inline: Inline } | Table | Code

export interface MarkdownParser {
  /** Adds the next piece. The cost depends on this piece alone. */
  write(piece: string): void
  /** Ends the text and draws what was held back. May be called twice. */
  end(): void
  /**
   * Source text that was read but not drawn: the end of the open block, and the start of the next
   * line.
   */
  readonly held: { readonly text: string; readonly line: string }
}

/**
 * Parses Markdown while it is still arriving, and draws it as soon as it is certain: the words of a
 * paragraph as they arrive, the start of a line once it is clear what kind of block it is. The
 * result does not depend on how the text was split.
 *
 * It supports CommonMark with the tables, task lists, strikethrough and autolinks of GitHub, except
 * for what would change text that is already drawn: a line of dashes under a paragraph is a rule
 * instead of a heading, links must contain their address (no references), and table rows must start
 * with a pipe. HTML is shown as text.
 */
export function markdownParser(sink: Sink): MarkdownParser {
  const clean = cleaner()
  const containers = containersOf(sink)
  let leaf: Leaf | undefined
  let buffer = ''
  /**
   * - `fresh`: nothing of the line has been read
   * - `opened`: it has opened a container, in which another block may start
   * - `inside`: what follows is text of the leaf, if there is one
   */
  let state: 'fresh' | 'opened' | 'inside' = 'fresh'
  let hasEnded = false
  let wasBlank = false

  function take(size: number, next: 'opened' | 'inside' = 'inside'): true {
    buffer = buffer.slice(size)
    state = next
    return true
  }

  /**
   * Reads the start of a line, or what follows a container that it opened. False if more text is
   * needed.
   */
  function startLine(): boolean {
    const found = state === 'fresh' ? containers.match(buffer) : { kept: containers.depth, place: lineStart }
    const indent = found && indentAt(buffer, found.place)
    if (!indent) return false
    const { kept, place } = found
    const { width, textAt } = indent
    const first = buffer[textAt]
    // A leaf continues only inside its own container; a paragraph continues wherever no other block
    // starts.
    const here = kept === containers.depth ? leaf : undefined
    if (here?.kind === 'code' && here.fence !== '') return continueFence(here, place, width, textAt)
    if (first === '\n') return startBlankLine(kept, textAt)
    if (here?.kind === 'table' && first === '|' && width < 4) {
      here.inline = tableRow(sink, 'td', here.aligns)
      return take(textAt)
    }
    if (width > 3 && leaf?.kind !== 'paragraph') return continueIndented(here, kept, place)
    const start = width > 3 ? plain : (readStart(buffer.slice(textAt)) ?? (hasEnded ? plain : undefined))
    if (!start) return false
    if (leaf?.kind === 'paragraph' && (start.kind === 'text' || (here && cannotInterruptParagraph(start)))) {
      leaf.inline.write('\n')
      return take(textAt)
    }
    settle(kept, start)
    return open(start, width, textAt)
  }

  /** Closes the containers that the line is no longer part of. */
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

  function startBlankLine(kept: number, at: number): true {
    if (leaf?.kind === 'code' && kept === containers.depth) leaf.lineEnds++
    else closeTo(kept)
    wasBlank = state === 'fresh'
    if (wasBlank && !leaf) sink.blank?.()
    return take(at)
  }

  function continueIndented(here: Leaf | undefined, kept: number, place: Place): true {
    if (here?.kind === 'code') return continueCode(here, place)
    settle(kept, plain)
    containers.leaveList()
    return continueCode(openCode('', 4, {}), place)
  }

  function continueFence(code: Code, place: Place, width: number, textAt: number): boolean {
    const closing = width > 3 ? 0 : readClosing(buffer.slice(textAt), code.fence)
    if (closing === undefined) return false
    if (closing === 0) return continueCode(code, place)
    closeTo(containers.depth)
    return take(textAt + closing)
  }

  function continueCode(code: Code, place: Place): true {
    const { at, pad } = skipColumns(buffer, place, code.indent)
    sink.text('\n'.repeat(code.lineEnds) + ' '.repeat(pad))
    code.lineEnds = 1
    return take(at)
  }

  /** Opens the block that the line starts with. The rest of the line is read next. */
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

  /** Reads up to the end of the line, or as far as it has arrived. */
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
    let hasProgress = true
    while (hasProgress && buffer !== '') hasProgress = state === 'inside' ? readText() : startLine()
  }

  return {
    write(piece) {
      buffer += clean.write(piece)
      read()
    },
    end() {
      if (hasEnded) return
      hasEnded = true
      buffer += clean.end()
      // A line end decides everything that was held back.
      if (buffer !== '' || state !== 'fresh') buffer += '\n'
      read()
      closeTo(0)
    },
    get held() {
      return { text: leaf?.inline?.held ?? '', line: buffer }
    },
  }
}

/**
 * CommonMark 0.31, section 5.2: an empty item, or a number other than 1, cannot interrupt a
 * paragraph.
 */
const cannotInterruptParagraph = (start: Start) =>
  start.kind === 'item' && (start.isEmpty || (start.number ?? 1) !== 1)
