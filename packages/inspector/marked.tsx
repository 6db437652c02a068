import type { ComponentChildren } from 'preact'

/** A text in pieces; those at odd places contain a word of the search. Case is ignored. */
export function piecesOf(text: string, search: string): readonly string[] {
  const words = search.split(/\s+/).filter(Boolean)
  if (words.length === 0) return [text]
  // The longest first: otherwise only the start of a word would be marked.
  const escaped = words
    .sort((one, other) => other.length - one.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return text.split(new RegExp(`(${escaped.join('|')})`, 'giu'))
}

/** A text in which the words of a search are marked. */
export function Marked({ text, search }: { readonly text: string; readonly search: string }) {
  return piecesOf(text, search).map(
    (piece, at): ComponentChildren => (at % 2 ? <mark key={at}>{piece}</mark> : piece),
  )
}
