import type { Detail, Sink, Tag } from 'millrace/view'
import type { CodeBlock } from './code-block.tsx'
import { codeBlock } from './code-block.tsx'
import { scrollBox } from './scroll-box.ts'

// A page has headings of its own above these: those of an answer stand two levels lower, and look as written by their class.
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

/** Blocks lie together in groups, which the browser skips as a whole: else each frame would look at every block there is. */
const groupSize = 16

export interface DomSink extends Sink {
  /** Draws the text that it was given last: pieces of a word or a line are put together first. */
  flush(): void
  /** Takes back what it has given to others: the buttons of code blocks. */
  dispose(): void
}

/**
 * Draws into an element, with text and one element for each tag that a sink knows: there is no way from the words of a model to
 * markup. Text that follows text grows the same node, so there are as many nodes as the structure has, not as there were pieces.
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
    const next = made('div', {})
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
      const element = made(elements[tag] ?? tag, propertiesOf(tag, detail))
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

function made(name: string, properties: object): HTMLElement {
  return Object.assign(document.createElement(name), properties)
}

function propertiesOf(tag: Tag, { href, title, start = 1, align = 'left', done }: Detail): object {
  // What is written in Arabic or Hebrew runs its own way.
  const dir = 'auto'
  if (tag === 'a') return { href, title, target: '_blank', rel: 'noopener noreferrer nofollow' }
  if (tag === 'p' || tag === 'ul') return { dir }
  if (tag === 'ol') return { dir, start }
  if (tag === 'th') return { dir, className: `md-${align}`, scope: 'col' }
  if (tag === 'td') return { dir, className: `md-${align}` }
  if (/^h\d$/.test(tag)) return { dir, className: `md-${tag}` }
  if (tag === 'pre') return { className: 'md-code' }
  if (tag !== 'task') return {}
  const [ariaLabel, textContent] = done ? ['Done:', '☑'] : ['To do:', '☐']
  return { className: 'md-task', role: 'img', ariaLabel, textContent }
}

/** Where an element goes, if not right where the sink is. */
function holderFor(tag: Tag, parent: Element): Element {
  if (tag === 'head') return (parent as HTMLTableElement).createTHead()
  if (parent instanceof HTMLTableElement) return parent.tBodies[0] ?? parent.createTBody()
  if (tag !== 'table') return parent
  const box = made('div', { className: 'md-table', ...scrollBox('Table') })
  parent.append(box)
  return box
}
