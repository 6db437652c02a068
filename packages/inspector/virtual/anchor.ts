/** What stands at the top of what is seen, the innermost first, and how far it is from the beginning of the list. */
export type Anchor = readonly { readonly element: Element; readonly top: number }[]

/** Counted from the beginning of what is scrolled, so that scrolling does not change it. */
const topIn = (list: Element, element: Element) =>
  element.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop

/** A row may grow above what is read in it too: so it is the element at the very top that counts, if it is of that row. */
export function anchorIn(list: Element, row: Element | undefined): Anchor {
  if (!row) return []
  const { top, left, width } = list.getBoundingClientRect()
  const hit = document.elementFromPoint(left + width / 2, top + 1)
  const elements = hit && row.contains(hit) ? [hit, row] : [row]
  return elements.map((element) => ({ element, top: topIn(list, element) }))
}

/** How far the anchor has moved since it was taken. Its row stands for it where it is not there any more. */
export function shiftOf(anchor: Anchor, list: Element): number {
  const kept = anchor.find(({ element }) => list.contains(element))
  return kept ? topIn(list, kept.element) - kept.top : 0
}
