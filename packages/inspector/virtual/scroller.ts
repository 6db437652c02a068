import type { Anchor } from './anchor.ts'
import { anchorIn, shiftOf } from './anchor.ts'
import type { PlacedRow, Rows } from './placing.ts'
import { placing } from './placing.ts'

interface Range {
  readonly from: number
  readonly to: number
}

interface ScrollerOptions extends Rows {
  readonly stick: boolean
  readonly onAtEnd?: (atEnd: boolean) => void
}

interface Goal {
  readonly index: number
  readonly align: 'start' | 'end'
}

/** How many rows are drawn beyond those that are seen, on each side. */
const overscan = 4

/** What stands below the last row that is seen counts as its end: a line, not more. */
const nearPx = 24

/** Keys that lead away from the end. */
const upwards = /^(?:ArrowUp|PageUp|Home)$/

/**
 * Decides which rows of a list are drawn and keeps what is read where it is: at its end while that grows, if the reader is there,
 * and otherwise by what stands at the top of what is seen, whatever becomes higher above it. The latter is the browser's own scroll
 * anchoring, which does not break off a scroll that is under way; where it is missing it is made up for.
 */
export function createScroller(redraw: () => void) {
  const places = placing()
  const { heights } = places
  let options: ScrollerOptions
  let element: HTMLElement | undefined
  /** What stands at the top of what is seen. */
  let topRow: PlacedRow | undefined
  let anchor: Anchor = []
  let isFollowing = true
  let goal: Goal | undefined
  let lastTop = 0
  /** How far it was to the end then. */
  let lastLeft = 0
  let wasAtEnd: boolean | undefined
  let frame = 0

  const sizes = new ResizeObserver(() => settle())

  /** Those of `places.drawn`, in their order. */
  function rowElements(): Element[] {
    const children = element?.firstElementChild?.children ?? []
    return [...children].filter((child) => child.matches('[data-row]'))
  }

  const follows = () => options.stick && isFollowing

  /** Where to go or to stay, whatever is drawn. */
  function goalNow(): Goal | undefined {
    return goal ?? (follows() ? { index: options.count - 1, align: 'end' } : undefined)
  }

  /** Where the top of what is seen belongs then. */
  function topFor({ index, align }: Goal, height: number): number {
    return align === 'start' ? heights.before(index) : heights.before(index + 1) - height
  }

  function rangeAt(top: number, height: number): Range {
    const { count } = options
    return {
      from: Math.max(0, heights.at(top) - overscan),
      to: Math.min(count - 1, heights.at(top + height) + overscan),
    }
  }

  /** The rows to draw, in order: those that are seen, some around them, and the one that has the focus. */
  function draw(next: ScrollerOptions): readonly PlacedRow[] {
    options = next
    const focused = places.drawn[rowElements().findIndex((row) => row.contains(document.activeElement))]
    const before = topRow ? heights.before(topRow.index) : 0
    const [topIndex, focusIndex] = places.update(next, [topRow, focused])
    const moved = topIndex === undefined ? 0 : heights.before(topIndex) - before
    const height = element?.clientHeight || innerHeight
    const to = goalNow()
    const range = rangeAt(to ? topFor(to, height) : (element?.scrollTop ?? 0) + moved, height)
    const indexes = Array.from({ length: range.to - range.from + 1 }, (_, i) => range.from + i)
    if (focusIndex !== undefined && !indexes.includes(focusIndex)) indexes.push(focusIndex)
    places.drawn = indexes.sort((a, b) => a - b).map((index) => ({ index, key: next.keyOf(index) }))
    return places.drawn
  }

  /** After something was drawn or has another height: puts what is read back in its place, and sees whether rows are missing. */
  function settle(): void {
    // Where the list itself is not shown its rows have no height, which says nothing.
    if (!element?.clientHeight) return
    for (const [i, row] of rowElements().entries()) {
      const placed = places.drawn[i]
      if (placed) places.measured(placed.key, placed.index, row.getBoundingClientRect().height)
    }
    const to = goalNow()
    // Below the last row there may be a margin.
    const isEnd = to?.align === 'end' && to.index === options.count - 1
    const shift = to || isAnchored(element) ? 0 : Math.round(shiftOf(anchor, element))
    if (to) element.scrollTop = isEnd ? element.scrollHeight : topFor(to, element.clientHeight)
    // To write it breaks off a scroll that is under way, also if it stays the same.
    else if (shift !== 0) element.scrollTop += shift
    look(element)
  }

  /** Remembers what is seen now, asks for rows that are missing, and reports. */
  function look(list: HTMLElement): void {
    lastTop = list.scrollTop
    lastLeft = leftBelow(list)
    const { top } = list.getBoundingClientRect()
    const rows = rowElements()
    const first = rows.findIndex((row) => row.getBoundingClientRect().bottom > top)
    topRow = places.drawn[first]
    anchor = anchorIn(list, rows[first])
    const range = rangeAt(lastTop, list.clientHeight)
    const isDrawn = (wanted: number) => places.drawn.some(({ index }) => index === wanted)
    if (options.count === 0 || (isDrawn(range.from) && isDrawn(range.to))) goal = undefined
    else redrawSoon()
    const isAtEnd = lastLeft <= nearPx || follows()
    if (isAtEnd !== wasAtEnd) options.onAtEnd?.(isAtEnd)
    wasAtEnd = isAtEnd
  }

  // Not at once: rows that are added while heights are being reported would be reported too late, which a browser complains of.
  function redrawSoon(): void {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      redraw()
    })
  }

  /** Whoever comes nearer to the end follows it, and whoever goes away from it does not: that it grows moves nobody. */
  function scrolled(): void {
    if (!element) return
    const left = leftBelow(element)
    if (element.scrollTop < lastTop && left > lastLeft) isFollowing = false
    else if (element.scrollTop > lastTop && left < lastLeft) isFollowing ||= left <= nearPx
    look(element)
  }

  function scrollTo(wanted: number, align?: 'start' | 'end'): void {
    if (!element) return
    const index = Math.min(wanted, options.count - 1)
    const isAbove = heights.before(index) < element.scrollTop
    if (!align && !isAbove && heights.before(index + 1) <= element.scrollTop + element.clientHeight) return
    isFollowing = index === options.count - 1 && align !== 'start'
    goal = { index, align: align ?? (isAbove ? 'start' : 'end') }
    redraw()
  }

  const toEnd = () => scrollTo(options.count - 1, 'end')

  function leaveEnd(): void {
    if (element && element.scrollTop > 0) isFollowing = false
  }

  /** At once, before anything has moved: what is written while a scroll begins would break it off. */
  function takeOver(event: Event): void {
    goal = undefined
    if (event instanceof WheelEvent && event.deltaY < 0) leaveEnd()
  }

  /** The ends are where the rows say, which only those know that are drawn: left to the browser, the first try misses them. */
  function pressed(event: KeyboardEvent): void {
    const { key, target, ctrlKey, altKey, metaKey, shiftKey, defaultPrevented } = event
    if (defaultPrevented || (target as Element).matches('input, textarea, select, [contenteditable]')) return
    goal = undefined
    if (upwards.test(key)) leaveEnd()
    if ((key !== 'Home' && key !== 'End') || ctrlKey || altKey || metaKey || shiftKey) return
    event.preventDefault()
    if (key === 'Home') scrollTo(0, 'start')
    else toEnd()
  }

  return {
    draw,
    settle,
    scrollTo,
    toEnd,
    /** The height of the rows from `from` up to `to`, which are not drawn. */
    space: (from: number, to: number) => heights.before(to) - heights.before(from),

    /** The rows are in the one element inside the list, by whose height it is seen that one of them has grown. */
    attach(list: HTMLElement): () => void {
      element = list
      list.addEventListener('scroll', scrolled)
      list.addEventListener('keydown', pressed)
      for (const name of ['wheel', 'touchmove', 'pointerdown'])
        list.addEventListener(name, takeOver, { passive: true })
      for (const box of [list, ...list.children]) sizes.observe(box)
      return () => {
        element = undefined
        sizes.disconnect()
        cancelAnimationFrame(frame)
      }
    },
  }
}

// CSS Scroll Anchoring 1, section 2: at the very top the browser keeps nothing.
const isAnchored = (list: Element) => list.scrollTop > 0 && CSS.supports('overflow-anchor', 'auto')

const leftBelow = (list: Element) => list.scrollHeight - list.scrollTop - list.clientHeight
