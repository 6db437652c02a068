import type { Entry } from './events.ts'
import type { UserMessage } from './messages.ts'
import { textOf } from './messages.ts'

const maxChars = 120

/**
 * The title of a thread whose log starts with these entries: the start of the first message in
 * them. Undefined if there is no message yet. See `ThreadInfo.title`.
 */
export function titleOf(entries: Iterable<Pick<Entry, 'event'>>): string | undefined {
  for (const { event } of entries) {
    if (event.type !== 'input' || event.mode === 'correct') continue
    const title = firstWords(textOf(event.message)) || firstWords(attachmentOf(event.message))
    if (title) return title
  }
  return undefined
}

/** A title that a user chose, on one line of at most 120 characters. */
export function titleFrom(text: string): string {
  return firstWords(text)
}

/** Collapses whitespace and cuts. Reads only as many words as needed, however long the text is. */
function firstWords(text: string): string {
  let words = ''
  for (const [word] of text.matchAll(/\S+/g)) {
    words += words && ' '
    words += word.slice(0, maxChars + 1)
    if (words.length > maxChars) return cut(words)
  }
  return words
}

/** Cuts to `maxChars`, ellipsis included, without splitting a surrogate pair. */
function cut(words: string): string {
  const end = maxChars - 1
  const splitsPair = /^[\ud800-\udbff][\udc00-\udfff]/.test(words.slice(end - 1, end + 1))
  return `${words.slice(0, splitsPair ? end - 1 : end).trimEnd()}…`
}

function attachmentOf({ content }: UserMessage): string {
  const part = typeof content === 'string' ? undefined : content.find(({ type }) => type !== 'text')
  if (part?.type === 'image') return '[image]'
  if (part?.type === 'file') return part.name === undefined ? '[file]' : `[file: ${part.name}]`
  return ''
}
