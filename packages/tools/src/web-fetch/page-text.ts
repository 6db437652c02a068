import { systemClock } from 'millrace/internal'
import { markdownWriter, type Place } from './markdown-writer.ts'
import { elementWriter } from './page-elements.ts'
import { isHidden } from './page-hidden.ts'
import { type Attributes, tagReader } from './tag-reader.ts'

export interface PageText {
  readonly title: string
  /** Markdown. */
  readonly text: string
  /** That it came to more than the limit, and ends there. */
  readonly cut: boolean
}

/** How much of a page is read before others have their turn. */
const stride = 64 * 1024

/** A part of fewer characters is not what a page is about. */
const enough = 200

/**
 * What people see of a page, as Markdown: what is in `<main>` or in `<article>` if there is enough of that, else all. Takes time and
 * memory with the size of the page, however it is built, and lets others have their turn.
 */
export async function pageText(
  html: string,
  { url, limit, signal }: { url: URL; limit: number; signal: AbortSignal },
): Promise<PageText> {
  const page = reader(html, { url, limit })
  for (let at = 0; at < html.length && !page.isFull; at += stride) {
    page.readTo(at + stride)
    await systemClock.turn()
    signal.throwIfAborted()
  }
  return page.end()
}

function reader(html: string, { url, limit }: { url: URL; limit: number }) {
  const writer = markdownWriter(limit)
  const openElement = elementWriter(writer, url)
  const parts = { main: partsOf(writer.place), article: partsOf(writer.place) }
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
      // What cannot hold its own content hides all that is left of what it stands in.
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
      const all = [[{ pieces: 0, characters: 0 }, writer.place()] as const]
      const shown = [parts.main.ranges, parts.article.ranges].find(isEnough) ?? all
      const text = shown.map(([from, to]) => writer.between(from, to)).join('\n\n')
      return { title: title.replace(/\s+/g, ' ').trim(), text, cut: writer.isFull }
    },
  }
}

type Range = readonly [Place, Place]

/** Where elements of one kind begin and end; one inside another is part of that. */
function partsOf(place: () => Place) {
  const ranges: Range[] = []
  let depth = 0
  return {
    ranges,
    open() {
      const from = place()
      depth++
      return () => {
        if (--depth === 0) ranges.push([from, place()])
      }
    },
  }
}

function isEnough(ranges: readonly Range[]): boolean {
  return ranges.reduce((sum, [from, to]) => sum + to.characters - from.characters, 0) >= enough
}

/** As highlighters note it: `class="language-ts"`. */
function languageOf({ class: names = '' }: Attributes): string {
  return /(?:^|\s)lang(?:uage)?-([\w+#-]{1,20})/.exec(names)?.[1] ?? ''
}
