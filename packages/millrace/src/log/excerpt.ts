import { foldText } from '../protocol/index.ts'

/** How many characters an excerpt has, and how many of them come before the word. */
const maxChars = 120
const charsBefore = 40

/** How much of the text on each side is read: more than an excerpt has, since spaces collapse. */
const readChars = 400

/**
 * The part of a text around a word, on one line. `search` is the text in the form in which searches
 * match it, and contains the word.
 */
export function excerptOf({ text, search }: { text: string; search: string }, word: string): string {
  const at = offsetIn(text, search, Math.max(0, search.indexOf(word)))
  const [from, to] = [Math.max(0, at - readChars), at + word.length + readChars]
  // Folding may have moved the place of the word into the spaces before it.
  const [spaces] = /^\s*/.exec(text.slice(at, to)) as unknown as [string]
  const head = oneLine(text.slice(from, at) + spaces).trimStart()
  const tail = oneLine(text.slice(at + spaces.length, to)).trimEnd()
  const before = lastWords(head, charsBefore)
  const after = firstWords(tail, maxChars - before.length)
  const isStart = from === 0 && before === head
  const isEnd = after === tail && !text.slice(to).trim()
  return `${isStart ? '' : '…'}${before}${after}${isEnd ? '' : '…'}`
}

/**
 * Where a character of `search` is in `text`. The two differ in length if a character was folded
 * into several, or several into one.
 */
function offsetIn(text: string, search: string, offset: number): number {
  if (text.length === search.length) return offset
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (foldText(text.slice(0, middle)).length < offset) low = middle + 1
    else high = middle
  }
  return low
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** The end of a text, from the start of a word if there is one. */
function lastWords(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.slice(-most)
  if (text.at(-most - 1) === ' ') return end
  const space = end.indexOf(' ')
  return space < 0 ? end.replace(/^[\udc00-\udfff]/, '') : end.slice(space + 1)
}

/** The start of a text, up to the end of a word if there is one. */
function firstWords(text: string, most: number): string {
  if (text.length <= most) return text
  const start = text.slice(0, most)
  if (text[most] === ' ') return start
  const space = start.lastIndexOf(' ')
  return space < 0 ? start.replace(/[\ud800-\udbff]$/, '') : start.slice(0, space)
}
