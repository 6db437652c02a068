import { whyNotFound } from './near.ts'

export interface Edit {
  readonly old_text: string
  readonly new_text: string
  readonly replace_all?: boolean
}

/** A stretch of the edited text that was put in. */
interface Span {
  readonly start: number
  readonly end: number
}

export interface Edited {
  readonly text: string
  readonly replaced: number
  /** The first so many, in the order of the edits. */
  readonly spans: readonly Span[]
}

const maxSpans = 20

/** Makes the edits one after the other. Throws a sentence that helps if one cannot be made; then none is. */
export function applyEdits(original: string, edits: readonly Edit[]): Edited {
  let edited: Edited = { text: original, replaced: 0, spans: [] }
  for (const [index, edit] of edits.entries()) {
    try {
      edited = applyEdit(edited, edit)
    } catch (error) {
      if (edits.length === 1) throw error
      throw new Error(`Nothing was changed, because of edit ${index + 1}: ${(error as Error).message}`)
    }
  }
  return edited
}

function applyEdit({ text, replaced, spans }: Edited, edit: Edit): Edited {
  if (edit.old_text === '')
    throw new Error('old_text is empty: give the text to replace. To write a whole file use write_file.')
  if (edit.old_text === edit.new_text) throw new Error('old_text and new_text are the same.')
  const written = inFormOf(text, edit)
  if (!written) throw new Error(whyNotFound(text, edit))
  const { old_text: old, new_text: next, replace_all: all = false } = written
  const found = placesOf(text, old)
  if (found.length > 1 && !all) throw new Error(notUnique(text, found))

  const grown = next.length - old.length
  const put = found
    .slice(0, maxSpans)
    .map((at, index) => ({ start: at + index * grown, end: at + index * grown + next.length }))
  const after = (position: number) => position + grown * found.filter((at) => at < position).length
  const moved = spans.map(({ start, end }) => ({ start: after(start), end: after(end) }))
  return {
    // Not replace(): `$&` in the new text is meant as it stands.
    text: text.split(old).join(next),
    replaced: replaced + found.length,
    spans: [...moved, ...put].slice(0, maxSpans),
  }
}

/** The edit with the line breaks of the file, in which it is found; undefined if it is in none. */
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

function placesOf(text: string, old: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + old.length)) places.push(at)
  return places
}

function notUnique(text: string, found: readonly number[]): string {
  const lines = found.slice(0, 10).map((at) => lineAt(text, at))
  const more = found.length > lines.length ? ', …' : ''
  return `old_text is there ${found.length} times, at the lines ${lines.join(', ')}${more}: give more of the lines around the one you mean, or set replace_all to replace them all.`
}

/** The number of the line in which a position lies, from 1. */
export function lineAt(text: string, position: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line++
  return line
}
