import type { Detail, Sink, Tag } from 'millrace/view'
import type { CodeBlock } from './code-block.tsx'
import { codeBlock } from './code-block.tsx'
import { scrollBox } from './scroll-box.ts'

// The headings of an answer are two levels lower, since the page has headings above them. Their
// class gives them their original size.
const elements: Partial<Record<Tag, string>> = {
  h1: 'h3',
  h2: 'h4',
  h3: 'h5',
  h4: 'h6',
  h5: 'h6',
  quote: 'blockquote',
  head: 'tr',
  row: 'tr',
  pre: 'div',
  task: 'span',
}

/** Blocks per group. The browser skips invisible groups, instead of checking every block. */
const groupSize = 16

export interface DomSink extends Sink {
  /** Writes buffered text to the DOM. */
  flush(): void
  /** Unmounts the components of code blocks. */
  dispose(): void
}

/**
 * Writes Markdown events to the DOM as text nodes and a fixed set of elements, so that model output
 * cannot inject markup. Adjacent text extends the same node, so the number of nodes does not depend
 * on the number of pieces.
 */
export function domSink(root: HTMLElement): DomSink {
  const open: HTMLElement[] = [root]
  const codeBlocks: CodeBlock[] = []
  let pending = ''
  let code: CodeBlock | undefined
  const here = (): HTMLElement => open.at(-1) ?? root

  function group(): Element {
    const last = root.lastElementChild
    if (last && last.childElementCount < groupSize) return last
    const next = createElement('div', {})
    root.append(next)
    return next
  }

  function flush(): void {
    if (pending === '') return
    const last = here().lastChild
    if (code) code.write(pending)
    else if (last instanceof Text) last.appendData(pending)
    else here().append(pending)
    pending = ''
  }

  return {
    flush,
    open(tag, detail = {}) {
      flush()
      const element = createElement(elements[tag] ?? tag, propertiesOf(tag, detail))
      holderFor(tag, open.length > 1 ? here() : group()).append(element)
      open.push(element)
      if (tag !== 'pre') return
      code = codeBlock(element, detail.info ?? '')
      codeBlocks.push(code)
    },
    text(text) {
      pending += text
    },
    close() {
      flush()
      code = undefined
      open.pop()
    },
    undo(mark) {
      flush()
      Object.assign(here(), { className: 'md-plain', role: 'presentation' }).prepend(mark)
      open.pop()
    },
    loosen() {
      open.findLast(({ localName }) => /^[uo]l$/.test(localName))?.classList.add('md-loose')
    },
    dispose() {
      for (const block of codeBlocks) block.dispose()
    },
  }
}

function createElement(name: string, properties: object): HTMLElement {
  return Object.assign(document.createElement(name), properties)
}

function propertiesOf(tag: Tag, { href, title, start = 1, align = 'left', done }: Detail): object {
  // For right-to-left scripts. The styles do the same for text: `dir` there would hide it from the
  // list or quote around it.
  const dir = 'auto'
  if (tag === 'a') return { href, title, target: '_blank', rel: 'noopener noreferrer nofollow' }
  if (tag === 'ul' || tag === 'quote' || tag === 'table') return { dir }
  if (tag === 'ol') return { dir, start }
  if (tag === 'th') return { className: `md-${align}`, scope: 'col' }
  if (tag === 'td') return { className: `md-${align}` }
  if (/^h\d$/.test(tag)) return { className: `md-${tag}` }
  if (tag === 'pre') return { className: 'md-code' }
  if (tag !== 'task') return {}
  const [ariaLabel, textContent] = done ? ['Done:', '☑'] : ['To do:', '☐']
  return { className: 'md-task', role: 'img', ariaLabel, textContent }
}

/** The parent of a new element, for tables not the open element itself. */
function holderFor(tag: Tag, parent: Element): Element {
  if (tag === 'head') return (parent as HTMLTableElement).createTHead()
  if (parent instanceof HTMLTableElement) return parent.tBodies[0] ?? parent.createTBody()
  if (tag !== 'table') return parent
  const box = createElement('div', { className: 'md-table', ...scrollBox('Table') })
  parent.append(box)
  return box
}
