/** The elements at the top of the viewport, innermost first, and their offsets in the list. */
export type Anchor = readonly { readonly element: Element; readonly top: number }[]

/** Relative to the scrolled content, so that scrolling does not change it. */
const topIn = (list: Element, element: Element) =>
  element.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop

/** A row can also grow above the visible part, so the anchor is the topmost element in the row. */
export function anchorIn(list: Element, row: Element | undefined): Anchor {
  if (!row) return []
  const { top, left, width } = list.getBoundingClientRect()
  const hit = document.elementFromPoint(left + width / 2, top + 1)
  const elements = hit && row.contains(hit) ? [hit, row] : [row]
  return elements.map((element) => ({ element, top: topIn(list, element) }))
}

/** How far the anchor has moved since. If its element was removed, its row is used. */
export function shiftOf(anchor: Anchor, list: Element): number {
  const kept = anchor.find(({ element }) => list.contains(element))
  return kept ? topIn(list, kept.element) - kept.top : 0
}
