import type { Anchor } from './anchor.ts'
import { anchorIn, shiftOf } from './anchor.ts'
import type { PlacedRow, Rows } from './placement.ts'
import { createPlacement } from './placement.ts'

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

/** How many invisible rows are rendered on each side. */
const overscan = 4

/** The list is at its end if no more than this is below the viewport: about a line. */
const nearPx = 24

/** How many rows are printed: the last ones. */
const mostPrinted = 2000

/** Keys that scroll away from the end. */
const upwards = /^(?:ArrowUp|PageUp|Home)$/

/**
 * Decides which rows of a list are rendered, and keeps the scroll position stable: at the end while
 * the list grows if the user is there, otherwise anchored to the top of the viewport. Anchoring is
 * left to the browser, which does not interrupt a scroll in progress, and emulated if unsupported.
 */
export function createScroller(redraw: () => void) {
  const places = createPlacement()
  const { heights } = places
  let options: ScrollerOptions
  let element: HTMLElement | undefined
  /** The row at the top of the viewport. */
  let topRow: PlacedRow | undefined
  let anchor: Anchor = []
  let isFollowing = true
  let isPrinting = false
  let goal: Goal | undefined
  let lastTop = 0
  /** The distance to the end at `lastTop`. */
  let lastLeft = 0
  let wasAtEnd: boolean | undefined
  let frame = 0

  const sizes = new ResizeObserver(() => settle())

  /** The elements of `places.drawn`, in order. */
  function rowElements(): Element[] {
    const children = element?.firstElementChild?.children ?? []
    return [...children].filter((child) => child.matches('[data-row]'))
  }

  const follows = () => options.stick && isFollowing

  /** Where to scroll to or to stay. */
  function goalNow(): Goal | undefined {
    return goal ?? (follows() ? { index: options.count - 1, align: 'end' } : undefined)
  }

  /** The scroll position for a goal. */
  function topFor({ index, align }: Goal, height: number): number {
    return align === 'start' ? heights.before(index) : heights.before(index + 1) - height
  }

  function rangeAt(top: number, height: number): Range {
    const { count } = options
    if (isPrinting) return { from: Math.max(0, count - mostPrinted), to: count - 1 }
    return {
      from: Math.max(0, heights.at(top) - overscan),
      to: Math.min(count - 1, heights.at(top + height) + overscan),
    }
  }

  /** The rows to render, in order: the visible ones, some around them, and the focused one. */
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

  /** Restores the scroll position and renders missing rows, after a render or height change. */
  function settle(): void {
    // Rows of a hidden list have no height.
    if (!element?.clientHeight) return
    for (const [i, row] of rowElements().entries()) {
      const placed = places.drawn[i]
      if (placed) places.measured(placed.key, placed.index, row.getBoundingClientRect().height)
    }
    const to = goalNow()
    // There may be a margin below the last row.
    const isEnd = to?.align === 'end' && to.index === options.count - 1
    const shift = to || isAnchored(element) ? 0 : Math.round(shiftOf(anchor, element))
    if (to) element.scrollTop = isEnd ? element.scrollHeight : topFor(to, element.clientHeight)
    // Setting `scrollTop`, even to the same value, interrupts a scroll in progress.
    else if (shift !== 0) element.scrollTop += shift
    observe(element)
  }

  /** Records the viewport, requests missing rows, and reports whether the list is at its end. */
  function observe(list: HTMLElement): void {
    lastTop = list.scrollTop
    lastLeft = distanceToEnd(list)
    const { top } = list.getBoundingClientRect()
    const rows = rowElements()
    const first = rows.findIndex((row) => row.getBoundingClientRect().bottom > top)
    topRow = places.drawn[first]
    // Not measured for nothing: it costs a hit test for each frame.
    anchor = isAnchored(list) ? [] : anchorIn(list, rows[first])
    const range = rangeAt(lastTop, list.clientHeight)
    const isDrawn = (wanted: number) => places.drawn.some(({ index }) => index === wanted)
    if (options.count === 0 || (isDrawn(range.from) && isDrawn(range.to))) goal = undefined
    else redrawSoon()
    const isAtEnd = lastLeft <= nearPx || follows()
    if (isAtEnd !== wasAtEnd) options.onAtEnd?.(isAtEnd)
    wasAtEnd = isAtEnd
  }

  // Delayed: rows added in a ResizeObserver callback cause a "ResizeObserver loop" error.
  function redrawSoon(): void {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      redraw()
    })
  }

  /** Scrolling to the end starts following it, scrolling away stops. Growth has no effect. */
  function onScroll(): void {
    if (!element) return
    const left = distanceToEnd(element)
    if (element.scrollTop < lastTop && left > lastLeft) isFollowing = false
    else if (element.scrollTop > lastTop && left < lastLeft) isFollowing ||= left <= nearPx
    observe(element)
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

  /** A printed conversation has all rows. They are rendered before the browser draws the pages. */
  function onPrint({ type }: Event): void {
    isPrinting = options.stick && type === 'beforeprint'
    redraw()
  }

  /** Runs before the scroll: setting `scrollTop` while it starts would interrupt it. */
  function onUserScroll(event: Event): void {
    goal = undefined
    if (event instanceof WheelEvent && event.deltaY < 0) leaveEnd()
  }

  /**
   * Opening or closing something in a row keeps its place: the list stops following its end, and
   * continues if the end is still visible afterwards.
   */
  function onClick({ target }: MouseEvent): void {
    if (!(target as Element).closest('summary, [aria-expanded]') || !follows()) return
    isFollowing = false
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (element && distanceToEnd(element) <= nearPx) isFollowing = true
      }),
    )
  }

  /** Handles Home and End: the browser would miss the ends, since other heights are estimates. */
  function onKeyDown(event: KeyboardEvent): void {
    const { key, target, ctrlKey, altKey, metaKey, shiftKey, defaultPrevented } = event
    // A box inside a row scrolls itself.
    if (target !== element && scrolls(target as Element)) return
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
    /** The height of the rows from `from` up to `to`, which are not rendered. */
    space: (from: number, to: number) => heights.before(to) - heights.before(from),

    /** The list has one child, which contains the rows. Its height changes when a row grows. */
    attach(list: HTMLElement): () => void {
      element = list
      list.addEventListener('scroll', onScroll)
      list.addEventListener('keydown', onKeyDown)
      // Before the row is rendered again.
      list.addEventListener('click', onClick, { capture: true })
      for (const name of ['wheel', 'touchmove', 'pointerdown'])
        list.addEventListener(name, onUserScroll, { passive: true })
      for (const box of [list, ...list.children]) sizes.observe(box)
      for (const name of ['beforeprint', 'afterprint']) addEventListener(name, onPrint)
      return () => {
        element = undefined
        sizes.disconnect()
        for (const name of ['beforeprint', 'afterprint']) removeEventListener(name, onPrint)
        cancelAnimationFrame(frame)
      }
    },
  }
}

// CSS Scroll Anchoring 1, section 2: the browser does not anchor at the very top.
const isAnchored = (list: Element) => list.scrollTop > 0 && CSS.supports('overflow-anchor', 'auto')

const scrolls = (box: Element) =>
  box.scrollHeight > box.clientHeight && /auto|scroll/.test(getComputedStyle(box).overflowY)

const distanceToEnd = (list: Element) => list.scrollHeight - list.scrollTop - list.clientHeight
