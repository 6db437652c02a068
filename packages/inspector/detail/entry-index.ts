import type { Entry } from 'millrace/client'
import type { EventFilter } from './filter.ts'
import { passes } from './filter.ts'

/** Those entries of a log that pass, as far as it has been looked through. */
export interface EntryIndex {
  readonly found: readonly Entry[]
  /** Everything there is has been looked at. */
  readonly done: boolean
  /** Looks at so many more. */
  advance(most: number): void
  /** The place among those found of the entry that holds a number; -1 if it is not among them. */
  placeOf(seq: number): number
}

/** Each entry is looked at once, however often the log grows. The log itself is only ever added to. */
export function entryIndex(entries: readonly Entry[], filter: EventFilter): EntryIndex {
  const pass = passes(filter)
  const found: Entry[] = []
  let next = 0
  return {
    found,
    get done() {
      return next >= entries.length
    },
    advance(most) {
      found.push(...entries.slice(next, next + most).filter(pass))
      next = Math.min(next + most, entries.length)
    },
    placeOf: (wanted) => found.findIndex(({ seq, from = seq }) => from <= wanted && wanted <= seq),
  }
}
