import { Tokenizer } from 'htmlparser2'
import { barriersFor, closedBy, isForeign, isVerbatim, isVoid } from './tag-rules.ts'

export type Attributes = Readonly<Record<string, string>>

/** Every `open` is matched by one `close`, properly nested. */
export interface TagHandler {
  /** `isFlat`: it is closed at once, and does not contain what follows. */
  open(name: string, attributes: Attributes, isFlat: boolean): void
  close(): void
  text(data: string): void
}

/**
 * Deeper elements are flat, as in browsers (512 in Chromium): every tag is compared with all open ones,
 * so a page with a million nested `<div>` would take forever.
 */
const maxDepth = 128

/**
 * Parses HTML incrementally and closes unclosed tags as browsers do. The parser of the same package takes
 * quadratic time in the depth, and nests the items of `<li><p>a<li>b`.
 */
export function tagReader(html: string, handler: TagHandler) {
  const open: string[] = []
  const counts = new Map<string, number>()
  // Collected, since text comes in pieces: `1 < 2 & 3` is five of them.
  let text = ''
  let name = ''
  let attributes: Record<string, string> = {}
  let attribute = ''
  let value = ''

  const isOpen = (name: string) => (counts.get(name) ?? 0) > 0
  const inForeign = () => isOpen('svg') || isOpen('math')

  function flush(): void {
    if (text) handler.text(text)
    text = ''
  }

  function close(): void {
    const name = open.pop() ?? ''
    counts.set(name, (counts.get(name) ?? 0) - 1)
    handler.close()
  }

  /** Closes the innermost element with one of these names, unless there is a barrier in between. */
  function closeTo(names: readonly string[], isBarrier: (name: string) => boolean): void {
    if (!names.some(isOpen)) return
    const at = open.findLastIndex((one) => names.includes(one) || isBarrier(one))
    if (!names.includes(open[at] ?? '')) return
    while (open.length > at) close()
  }

  function openTag(isClosed: boolean): void {
    flush()
    for (const { names, isBarrier } of closedBy(name)) closeTo(names, isBarrier)
    const holds = !isClosed && !isVoid(name)
    const isFlat = holds && open.length >= maxDepth && !isVerbatim(name)
    handler.open(name, attributes, isFlat)
    if (!holds || isFlat) return handler.close()
    open.push(name)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  function closeTag(name: string): void {
    flush()
    // Browsers insert the missing start tag of these.
    if (name === 'br' || (name === 'p' && !isOpen('p'))) {
      handler.open(name, {}, false)
      handler.close()
    } else if (name !== 'body' && name !== 'html') closeTo([name], barriersFor(name))
  }

  const tokenizer = new Tokenizer(
    {},
    {
      ontext(start, end) {
        text += html.slice(start, end)
      },
      ontextentity(code) {
        text += String.fromCodePoint(code)
      },
      onopentagname(start, end) {
        name = html.slice(start, end).toLowerCase()
        attributes = {}
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase()
        value = ''
      },
      onattribdata(start, end) {
        value += html.slice(start, end)
      },
      onattribentity(code) {
        value += String.fromCodePoint(code)
      },
      onattribend() {
        if (!Object.hasOwn(attributes, attribute)) attributes[attribute] = value
      },
      onopentagend: () => openTag(false),
      // The slash has a meaning only in SVG and MathML.
      onselfclosingtag: () => openTag(isForeign(name) || inForeign()),
      onclosetag: (start, end) => closeTag(html.slice(start, end).toLowerCase()),
      isInForeignContext: inForeign,
      oncomment() {},
      oncdata() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {
        flush()
        while (open.length > 0) close()
      },
    },
  )
  let at = 0
  return {
    readTo(end: number): void {
      tokenizer.write(html.slice(at, end))
      at = end
    },
    end: () => tokenizer.end(),
  }
}
