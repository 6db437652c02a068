import { whyNotFound } from './not-found.ts'

export interface Edit {
  readonly old_text: string
  readonly new_text: string
  readonly replace_all?: boolean
}

/** A range of the edited text that was inserted. */
interface Span {
  readonly start: number
  readonly end: number
}

export interface Edited {
  readonly text: string
  readonly replaced: number
  /** Up to `maxSpans`, in the order of the edits. */
  readonly spans: readonly Span[]
}

const maxSpans = 20

/** Applies the edits in order. Throws an explanation if one fails; then none is applied. */
export function applyEdits(original: string, edits: readonly Edit[]): Edited {
  let edited: Edited = { text: original, replaced: 0, spans: [] }
  for (const [index, edit] of edits.entries()) {
    try {
      edited = applyEdit(edited, edit)
    } catch (error) {
      if (edits.length === 1) throw error
      throw new Error(`Nothing was changed, because edit ${index + 1} failed: ${(error as Error).message}`)
    }
  }
  return edited
}

function applyEdit({ text, replaced, spans }: Edited, edit: Edit): Edited {
  if (edit.old_text === '')
    throw new Error('old_text is empty: pass the text to replace. Use write_file to write a whole file.')
  if (edit.old_text === edit.new_text) throw new Error('old_text and new_text are the same.')
  const written = inFormOf(text, edit)
  if (!written) throw new Error(whyNotFound(text, edit))
  const { old_text: old, new_text: next, replace_all: all = false } = written
  const found = positionsOf(text, old)
  if (found.length > 1 && !all) throw new Error(notUnique(text, found))

  const grown = next.length - old.length
  const put = found
    .slice(0, maxSpans)
    .map((at, index) => ({ start: at + index * grown, end: at + index * grown + next.length }))
  const after = (position: number) => position + grown * found.filter((at) => at < position).length
  const moved = spans.map(({ start, end }) => ({ start: after(start), end: after(end) }))
  return {
    // Not replace(): `$&` in the new text is literal.
    text: text.split(old).join(next),
    replaced: replaced + found.length,
    spans: [...moved, ...put].slice(0, maxSpans),
  }
}

/** The edit with the line breaks that match the file; undefined if no variant is found. */
function inFormOf(text: string, edit: Edit): Edit | undefined {
  const withBreaks = (line: string): Edit => ({
    ...edit,
    old_text: edit.old_text.replace(/\r?\n/g, line),
    new_text: edit.new_text.replace(/\r?\n/g, line),
  })
  const [dos, unix] = [withBreaks('\r\n'), withBreaks('\n')]
  const forms = /^[^\n]*\r\n/.test(text) ? [dos, edit, unix] : [edit, unix, dos]
  return forms.find(({ old_text }) => text.includes(old_text))
}

function positionsOf(text: string, old: string): number[] {
  const positions: number[] = []
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + old.length)) positions.push(at)
  return positions
}

function notUnique(text: string, found: readonly number[]): string {
  const lines = found.slice(0, 10).map((at) => lineAt(text, at))
  const more = found.length > lines.length ? ', …' : ''
  return `old_text occurs ${found.length} times, at lines ${lines.join(', ')}${more}: include more of the surrounding lines to make it unique, or set replace_all.`
}

/** The line number of a position, from 1. */
export function lineAt(text: string, position: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line++
  return line
}
