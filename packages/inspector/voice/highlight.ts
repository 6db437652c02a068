const name = 'spoken'

/** Highlights the last occurrence of a sentence in the chat, without changing the DOM. */
export function highlightSentence(sentence: string): void {
  // Firefox supports highlights since version 140.
  if (!('highlights' in CSS)) return
  CSS.highlights.delete(name)
  const wanted = sentence.replace(/\s+/g, '')
  if (!wanted) return
  const rows = document.querySelectorAll('.chat-conversation [data-kind="text"] .md')
  for (const row of [...rows].reverse()) {
    const range = rangeOf(row, wanted)
    if (!range) continue
    CSS.highlights.set(name, new Highlight(range))
    return
  }
}

/** Finds a text while ignoring whitespace, which differs where the text is broken into lines. */
function rangeOf(root: Element, wanted: string): Range | undefined {
  const places: [node: Node, offset: number][] = []
  let text = ''
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = nodes.nextNode(); node; node = nodes.nextNode())
    for (const { 0: character, index } of (node.nodeValue ?? '').matchAll(/\S/g)) {
      text += character
      places.push([node, index])
    }
  const at = text.lastIndexOf(wanted)
  const [first, last] = [places[at], places[at + wanted.length - 1]]
  if (at === -1 || !first || !last) return undefined
  const range = document.createRange()
  range.setStart(...first)
  range.setEnd(last[0], last[1] + 1)
  return range
}
