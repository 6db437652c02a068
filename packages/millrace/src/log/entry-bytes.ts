import type { Entry } from '../protocol/index.ts'

/** Approximate overhead of an entry, without its text. */
const overhead = 128
/** Approximate overhead of a value, without its characters. */
const perValue = 16
/** Bytes per character: JavaScript uses two as soon as one character in a string is not Latin-1. */
const perChar = 2

/** Approximate size of an entry in memory. */
export function entryBytes({ event }: Entry): number {
  // Nearly all entries are deltas.
  if (event.type === 'text' || event.type === 'reasoning') return overhead + perChar * event.text.length
  return overhead + valueBytes(event)
}

/** Without recursion: what a model or a tool returns may be nested deeper than the stack allows. */
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
