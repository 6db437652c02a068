import type { Key } from './keys.ts'

/** The text in the input line, and the cursor. */
export interface Draft {
  readonly text: string
  /** In UTF-16 units, always between two characters. */
  readonly cursor: number
  /** The text that was cut last. */
  readonly cut: string
}

export const emptyDraft: Draft = { text: '', cursor: 0, cut: '' }

/** A draft with this text and the cursor at its end. */
export function filled(text: string, { cut }: Draft = emptyDraft): Draft {
  return { text, cursor: text.length, cut }
}

/** Applies a key to a draft. Returns the same draft if the key does not edit. */
export function edit(draft: Draft, key: Key): Draft {
  const { text, cursor } = draft
  switch (key.type) {
    case 'text':
    case 'paste':
      return insert(draft, key.text)
    case 'new-line':
      return insert(draft, '\n')
    case 'left':
      return { ...draft, cursor: charLeft(text, cursor) }
    case 'right':
      return { ...draft, cursor: charRight(text, cursor) }
    case 'word-left':
      return { ...draft, cursor: wordLeft(text, cursor) }
    case 'word-right':
      return { ...draft, cursor: wordRight(text, cursor) }
    case 'start':
      return { ...draft, cursor: lineStart(text, cursor) }
    case 'end':
      return { ...draft, cursor: lineEnd(text, cursor) }
    case 'backspace':
      return remove(draft, charLeft(text, cursor), cursor, false)
    case 'delete':
    case 'end-of-input':
      return remove(draft, cursor, charRight(text, cursor), false)
    case 'delete-word-left':
      return remove(draft, wordLeft(text, cursor), cursor, true)
    case 'delete-word-right':
      return remove(draft, cursor, wordRight(text, cursor), true)
    case 'kill-start':
      return remove(draft, lineStart(text, cursor), cursor, true)
    case 'kill-end':
      return remove(draft, cursor, killEnd(text, cursor), true)
    case 'yank':
      return insert(draft, draft.cut)
    default:
      return draft
  }
}

/** Moves the cursor one line up or down, keeping its column. Returns undefined if there is no such line. */
export function moveLine(draft: Draft, direction: 'up' | 'down'): Draft | undefined {
  const { text, cursor } = draft
  const start = lineStart(text, cursor)
  const end = lineEnd(text, cursor)
  if (direction === 'up' ? start === 0 : end === text.length) return undefined
  const other = direction === 'up' ? lineStart(text, start - 1) : end + 1
  const characters = [...segments.segment(text.slice(start, cursor))].length
  const line = [...segments.segment(text.slice(other, lineEnd(text, other)))]
  const before = line.slice(0, characters).reduce((sum, { segment }) => sum + segment.length, 0)
  return { ...draft, cursor: other + before }
}

/** A trailing backslash starts a new line instead of sending. Returns undefined without one. */
export function continued(draft: Draft): Draft | undefined {
  const { text, cursor } = draft
  if (cursor !== text.length || !text.endsWith('\\')) return undefined
  return { ...filled(`${text.slice(0, -1)}\n`), cut: draft.cut }
}

function insert(draft: Draft, text: string): Draft {
  const { cursor } = draft
  return {
    ...draft,
    text: draft.text.slice(0, cursor) + text + draft.text.slice(cursor),
    cursor: cursor + text.length,
  }
}

function remove(draft: Draft, from: number, to: number, keep: boolean): Draft {
  if (from === to) return draft
  return {
    text: draft.text.slice(0, from) + draft.text.slice(to),
    cursor: from,
    cut: keep ? draft.text.slice(from, to) : draft.cut,
  }
}

const segments = new Intl.Segmenter()
const words = new Intl.Segmenter(undefined, { granularity: 'word' })
/** No character is longer than this, so a long text need not be segmented from its start. */
const maxCharLength = 64

function charLeft(text: string, cursor: number): number {
  const from = Math.max(0, cursor - maxCharLength)
  const last = [...segments.segment(text.slice(from, cursor))].at(-1)
  return cursor - (last?.segment.length ?? 0)
}

function charRight(text: string, cursor: number): number {
  const [next] = segments.segment(text.slice(cursor, cursor + maxCharLength))
  return cursor + (next?.segment.length ?? 0)
}

function wordLeft(text: string, cursor: number): number {
  const from = Math.max(0, cursor - 1000)
  const before = [...words.segment(text.slice(from, cursor))]
  return from + (before.findLast(({ isWordLike }) => isWordLike)?.index ?? 0)
}

function wordRight(text: string, cursor: number): number {
  for (const { segment, index, isWordLike } of words.segment(text.slice(cursor, cursor + 1000)))
    if (isWordLike) return cursor + index + segment.length
  return Math.min(text.length, cursor + 1000)
}

function lineStart(text: string, cursor: number): number {
  return cursor === 0 ? 0 : text.lastIndexOf('\n', cursor - 1) + 1
}

function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf('\n', cursor)
  return end === -1 ? text.length : end
}

/** At the end of a line, the newline is deleted. */
function killEnd(text: string, cursor: number): number {
  const end = lineEnd(text, cursor)
  return end === cursor ? Math.min(text.length, cursor + 1) : end
}
