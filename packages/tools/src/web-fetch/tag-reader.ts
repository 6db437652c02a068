import { Tokenizer } from 'htmlparser2'
import { barriersFor, closedBy, isForeign, isVerbatim, isVoid } from './tag-rules.ts'

export type Attributes = Readonly<Record<string, string>>

/** Every `open` is followed by one `close`, in turn. */
export interface TagHandler {
  /** `isFlat` says that it is closed at once, and what follows is not in it. */
  open(name: string, attributes: Attributes, isFlat: boolean): void
  close(): void
  text(data: string): void
}

/**
 * Below this an element does not hold what follows, as in browsers (512 in Chromium): every tag is held against those that are open,
 * and a page of a million `<div>` would take for ever.
 */
const deepest = 128

/**
 * Reads HTML tag by tag, up to `end` and on from there, and makes good what was not closed as browsers do. The parser of the same
 * package takes time with the square of the depth, and leaves `<li><p>a<li>b` inside each other.
 */
export function tagReader(html: string, handler: TagHandler) {
  const open: string[] = []
  const counts = new Map<string, number>()
  // Gathered, since it comes in pieces: `1 < 2 & 3` is five of them.
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

  /** Closes the innermost element of these names with all that is in it, unless it lies behind a barrier. */
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
    const isFlat = holds && open.length >= deepest && !isVerbatim(name)
    handler.open(name, attributes, isFlat)
    if (!holds || isFlat) return handler.close()
    open.push(name)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  function closeTag(name: string): void {
    flush()
    // Browsers make up the start of these.
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
      // The slash means something only in SVG and MathML.
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
