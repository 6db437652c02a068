import type { Detail, Sink, Tag } from './sink.ts'

interface Drawn {
  readonly tag: Tag | 'root' | 'plain'
  readonly detail: Detail | undefined
  readonly children: (Drawn | string)[]
}

/** A sink that draws in memory and returns the result as XML. */
export function recordingSink(): Sink & { xml(): string; words(): string; maxDepth(): number } {
  const root: Drawn = { tag: 'root', detail: undefined, children: [] }
  const open: Drawn[] = [root]
  let deepest = 0
  const here = () => {
    const last = open.at(-1)
    if (!last) throw new Error('more elements were closed than opened')
    return last
  }
  function leave(): Drawn {
    const last = here()
    open.pop()
    return last
  }

  return {
    open(tag, detail) {
      const drawn: Drawn = { tag, detail, children: [] }
      here().children.push(drawn)
      open.push(drawn)
      deepest = Math.max(deepest, open.length)
    },
    text(text) {
      if (text === '') return
      const { children } = here()
      const last = children.at(-1)
      if (typeof last === 'string') children[children.length - 1] = last + text
      else children.push(text)
    },
    close() {
      leave()
    },
    undo(mark) {
      const undone = leave()
      here().children.pop()
      here().children.push({ tag: 'plain', detail: undefined, children: [mark, ...undone.children] })
    },
    loosen() {
      const list = open.findLast(({ tag }) => tag === 'ul' || tag === 'ol')
      if (!list) throw new Error('no list is open')
      if (list.children[0] !== '~') list.children.unshift('~')
    },
    xml: () => root.children.map(toXml).join(''),
    maxDepth: () => deepest,
    words: () => root.children.map(toWords).join(''),
  }
}

function toXml(drawn: Drawn | string): string {
  if (typeof drawn === 'string') return drawn
  const inside = drawn.children.map(toXml).join('')
  if (drawn.tag === 'plain') return inside
  const attributes = Object.entries(drawn.detail ?? {}).map(([name, value]) => ` ${name}=${value}`)
  return `<${drawn.tag}${attributes.join('')}>${inside}</${drawn.tag}>`
}

function toWords(drawn: Drawn | string): string {
  if (typeof drawn === 'string') return drawn
  return `${drawn.detail?.start ?? ''} ${drawn.detail?.info ?? ''} ${drawn.children.map(toWords).join('')} ${drawn.detail?.title ?? ''} `
}
