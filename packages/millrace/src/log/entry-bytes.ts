import type { Entry } from '../protocol/index.ts'

/** What an entry takes beside its text, roughly. */
const overhead = 128
/** What a value takes beside its characters. */
const perValue = 16
/** A character in memory: JavaScript takes two bytes for it as soon as one is not Latin-1. */
const perChar = 2

/** About how many bytes an entry takes in memory. */
export function entryBytes({ event }: Entry): number {
  // Nearly all are deltas.
  if (event.type === 'text' || event.type === 'reasoning') return overhead + perChar * event.text.length
  return overhead + valueBytes(event)
}

/** Without recursion: what a model or a tool gives may be nested deeper than the stack allows. */
function valueBytes(root: unknown): number {
  const left = [root]
  let bytes = 0
  while (left.length > 0) {
    const value = left.pop()
    bytes += perValue
    if (typeof value === 'string') bytes += perChar * value.length
    else if (Array.isArray(value)) for (const item of value) left.push(item)
    else if (typeof value === 'object' && value !== null)
      for (const key in value) {
        bytes += perChar * key.length
        left.push((value as Record<string, unknown>)[key])
      }
  }
  return bytes
}
