import type { MarkdownWriter } from './markdown-writer.ts'
import { tableWriter } from './page-table.ts'
import type { Attributes } from './tag-reader.ts'

type Close = (() => void) | undefined | void

/** Elements surrounded by empty lines. */
const paragraphs = new Set('p figure details fieldset blockquote dl address'.split(' '))

/** Elements on lines of their own. */
const blocks = new Set(
  'article aside body caption center dialog dd div dt figcaption footer form header hgroup legend main menu nav section summary'.split(
    ' ',
  ),
)

/** Longer URLs are left out: they are not useful and cost tokens. */
const maxLinkChars = 2_000

/** Returns a function that opens an element, and returns a function that closes it. */
export function elementWriter(
  writer: MarkdownWriter,
  page: URL,
): (name: string, attributes: Attributes) => Close {
  const tables = tableWriter(writer)
  const lists: { next: number | undefined }[] = []
  let base = page
  let hasBase = false

  const linkTo = (href: string | undefined): string | undefined => {
    if (href === undefined || href.length > maxLinkChars || href.trim().startsWith('#')) return undefined
    const url = URL.parse(href, base)
    if (!url || !/^(https?|mailto):$/.test(url.protocol) || url.href.length > maxLinkChars) return undefined
    return url.href.replaceAll('(', '%28').replaceAll(')', '%29')
  }

  const block = (lines: 1 | 2, ...closers: Close[]): Close => {
    writer.gap(lines)
    return () => {
      for (const close of closers) close?.()
      writer.gap(lines)
    }
  }

  function openList(first: number | undefined): Close {
    const lines = lists.length > 0 ? 1 : 2
    lists.push({ next: first })
    return block(lines, () => void lists.pop())
  }

  function openItem(): Close {
    const list = lists.at(-1)
    const bullet = list?.next === undefined ? '- ' : `${list.next++}. `
    return block(1, writer.margin(bullet, ' '.repeat(bullet.length)))
  }

  function openHeading(level: number): Close {
    if (writer.isOneLine) return block(1)
    writer.gap(2)
    const span = writer.span(`${'#'.repeat(level)} `, '')
    return block(2, span, writer.oneLine())
  }

  function openLink({ href }: Attributes): Close {
    const link = linkTo(href)
    if (link === undefined) return
    const [line, span] = [writer.oneLine(), writer.span('[', `](${link})`)]
    return () => {
      span()
      line()
    }
  }

  function rule(): void {
    writer.gap(2)
    if (!writer.isOneLine) writer.mark('---')
    writer.gap(2)
  }

  function image({ alt = '', src }: Attributes): void {
    if (!alt.trim()) return
    const link = writer.isOneLine ? undefined : linkTo(src)
    const close = link === undefined ? undefined : writer.span('![', `](${link})`)
    writer.text(alt)
    close?.()
  }

  return (name, attributes) => {
    switch (name) {
      case 'h1':
      case 'h2':
      case 'h3':
      case 'h4':
      case 'h5':
      case 'h6':
        return openHeading(Number(name[1]))
      case 'a':
        return openLink(attributes)
      case 'img':
        return image(attributes)
      case 'br':
        return writer.gap(1)
      case 'hr':
        return rule()
      case 'ul':
      case 'menu':
        return openList(undefined)
      case 'ol':
        return openList(Number.parseInt(attributes.start ?? '1', 10) || 1)
      case 'li':
        return openItem()
      case 'blockquote':
        return block(2, writer.margin('> ', '> '))
      case 'dd':
        return block(1, writer.margin(': ', '  '))
      case 'table':
        return tables.openTable()
      case 'tr':
        return tables.openRow()
      case 'th':
      case 'td':
        return tables.openCell(name === 'th')
      case 'code':
      case 'kbd':
      case 'samp':
        return writer.span('`', '`')
      case 'del':
      case 's':
        return writer.span('~~', '~~')
      case 'sup':
        // 10⁶ is not 106.
        return writer.span('^', '')
      case 'base': {
        const url = hasBase ? undefined : linkTo(attributes.href)
        hasBase = true
        if (url?.startsWith('http')) base = new URL(url)
        return
      }
      default:
        if (paragraphs.has(name)) return block(2)
        return blocks.has(name) ? block(1) : undefined
    }
  }
}
