import type { Place } from './indent.ts'
import { indentAt, lineStart, skipColumns } from './indent.ts'
import type { Item } from './line-start.ts'
import type { Detail, Sink, Tag } from './sink.ts'

type Container =
  | { readonly kind: 'quote' }
  | { readonly kind: 'list'; readonly mark: string }
  /** Its text is indented by `width`. */
  | { readonly kind: 'item'; readonly width: number }

/**
 * Deeper than real text nests. Without a limit, a long row of `>` would create a tree that deep.
 */
const maxDepth = 40

/** The open containers: quotes, lists and items, each inside the one before it. */
export function containersOf(sink: Sink) {
  const open: Container[] = []

  function add(container: Container, tag: Tag, detail?: Detail): void {
    open.push(container)
    sink.open(tag, detail)
  }

  function closeTo(depth: number): void {
    for (; open.length > depth; open.pop()) sink.close()
  }

  /** The innermost container, if it is a list: an item or the end of the list comes next. */
  function list() {
    const last = open.at(-1)
    return last?.kind === 'list' ? last : undefined
  }

  /** Closes the list, unless an item with its mark follows. */
  function leaveList(mark?: string): void {
    if (list() && list()?.mark !== mark) closeTo(open.length - 1)
  }

  return {
    get depth() {
      return open.length
    },
    get isFull() {
      return open.length >= maxDepth
    },
    closeTo,
    leaveList,

    /**
     * How many containers the line is part of, and where its text starts. Undefined if more text is
     * needed.
     */
    match(line: string): { readonly kept: number; readonly place: Place } | undefined {
      let place = lineStart
      let kept = 0
      for (const container of open) {
        const indent = indentAt(line, place)
        if (!indent) return undefined
        const { width, textAt } = indent
        if (container.kind === 'quote') {
          if (width > 3 || line[textAt] !== '>') break
          place = skipColumns(line, { at: textAt + 1, column: place.column + width + 1, pad: 0 }, 1)
          if (place.at === line.length) return undefined
        } else if (container.kind === 'item') {
          if (width < container.width && line[textAt] !== '\n') break
          place = skipColumns(line, place, container.width)
        }
        kept++
      }
      return { kept, place }
    },

    openQuote(): void {
      add({ kind: 'quote' }, 'quote')
    },

    openItem({ mark, number, width }: Item, indent: number): void {
      leaveList(mark)
      const start = number === undefined || number === 1 ? undefined : { start: number }
      if (!list()) add({ kind: 'list', mark }, number === undefined ? 'ul' : 'ol', start)
      add({ kind: 'item', width: indent + width }, 'li')
    },

    /**
     * Something follows an empty line. If it is in an item, or an item with this mark, the list is
     * loose.
     */
    loosen(mark: string | undefined): void {
      if (open.at(-1)?.kind === 'item' || (mark !== undefined && list()?.mark === mark)) sink.loosen()
    },
  }
}
