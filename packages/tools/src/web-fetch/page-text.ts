import { systemClock } from 'millrace/internal'
import { markdownWriter, type Position } from './markdown-writer.ts'
import { elementWriter } from './page-elements.ts'
import { isHidden } from './page-hidden.ts'
import { type Attributes, tagReader } from './tag-reader.ts'

export interface PageText {
  readonly title: string
  /** Markdown. */
  readonly text: string
  /** Whether the text was cut at the limit. */
  readonly cut: boolean
}

/** How much of a page is parsed before yielding to the event loop. */
const chunkChars = 64 * 1024

/** A shorter `<main>` or `<article>` is not the main content. */
const minMainChars = 200

/**
 * The visible text of a page as Markdown: the content of `<main>` or `<article>` if it is long enough,
 * otherwise everything. Time and memory are linear in the size of the page; yields to the event loop.
 */
export async function pageText(
  html: string,
  { url, limit, signal }: { url: URL; limit: number; signal: AbortSignal },
): Promise<PageText> {
  const page = reader(html, { url, limit })
  for (let at = 0; at < html.length && !page.isFull; at += chunkChars) {
    page.readTo(at + chunkChars)
    await systemClock.turn()
    signal.throwIfAborted()
  }
  return page.end()
}

function reader(html: string, { url, limit }: { url: URL; limit: number }) {
  const writer = markdownWriter(limit)
  const openElement = elementWriter(writer, url)
  const parts = { main: partsOf(writer.position), article: partsOf(writer.position) }
  const closers: ((() => void) | undefined | void)[] = []
  let hiddenFrom: number | undefined
  let title = ''
  let inTitle = false
  let verbatim: { text: string; language: string } | undefined

  function open(name: string, attributes: Attributes) {
    if (name === 'title') {
      inTitle = true
      return () => {
        inTitle = false
      }
    }
    if (verbatim) {
      if (name === 'br') verbatim.text += '\n'
      if (name === 'code') verbatim.language ||= languageOf(attributes)
      return
    }
    if (name === 'pre' && !writer.isOneLine) {
      verbatim = { text: '', language: languageOf(attributes) }
      return () => {
        if (verbatim) fence(verbatim)
        verbatim = undefined
      }
    }
    const part = name === 'main' || attributes.role === 'main' ? 'main' : name
    if (part !== 'main' && part !== 'article') return openElement(name, attributes)
    writer.gap(2)
    const close = parts[part].open()
    return () => {
      close()
      writer.gap(2)
    }
  }

  function fence({ text, language }: { text: string; language: string }) {
    const body = text.replace(/^\n/, '').trimEnd()
    if (!body) return
    const longest = (body.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
    const ticks = '`'.repeat(longest + 1)
    writer.gap(2)
    writer.lines(`${ticks}${language}\n${body}\n${ticks}`)
    writer.gap(2)
  }

  const tags = tagReader(html, {
    open(name, attributes, isFlat) {
      const depth = closers.length
      // A flat hidden element cannot contain its content, so it hides the rest of its parent.
      if (hiddenFrom === undefined && isHidden(name, attributes)) hiddenFrom = isFlat ? depth - 1 : depth
      closers.push(hiddenFrom === undefined ? open(name, attributes) : undefined)
    },
    close() {
      closers.pop()?.()
      if (hiddenFrom !== undefined && closers.length <= hiddenFrom) hiddenFrom = undefined
    },
    text(data) {
      if (hiddenFrom !== undefined) return
      if (inTitle) title += data
      else if (verbatim) verbatim.text += data
      else writer.text(data)
    },
  })

  return {
    readTo: tags.readTo,
    get isFull() {
      return writer.isFull
    },
    end(): PageText {
      tags.end()
      const all = [[{ pieces: 0, characters: 0 }, writer.position()] as const]
      const shown = [parts.main.ranges, parts.article.ranges].find(isEnough) ?? all
      const text = shown.map(([from, to]) => writer.between(from, to)).join('\n\n')
      return { title: title.replace(/\s+/g, ' ').trim(), text, cut: writer.isFull }
    },
  }
}

type Range = readonly [Position, Position]

/** The ranges of elements of one kind; nested ones count as part of the outer one. */
function partsOf(position: () => Position) {
  const ranges: Range[] = []
  let depth = 0
  return {
    ranges,
    open() {
      const from = position()
      depth++
      return () => {
        if (--depth === 0) ranges.push([from, position()])
      }
    },
  }
}

function isEnough(ranges: readonly Range[]): boolean {
  return ranges.reduce((sum, [from, to]) => sum + to.characters - from.characters, 0) >= minMainChars
}

/** As syntax highlighters write it: `class="language-ts"`. */
function languageOf({ class: names = '' }: Attributes): string {
  return /(?:^|\s)lang(?:uage)?-([\w+#-]{1,20})/.exec(names)?.[1] ?? ''
}
