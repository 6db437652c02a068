import type { Entry } from 'millrace/client'
import type { EventFilter } from './filter.ts'
import { passes } from './filter.ts'

/** The entries of a log that match a filter, as far as the log has been searched. */
export interface EntryIndex {
  readonly found: readonly Entry[]
  /** Whether all entries have been searched. */
  readonly done: boolean
  /** Searches up to `most` more entries. */
  advance(most: number): void
  /** The index in `found` of the entry that contains a number; -1 if it was not found. */
  placeOf(seq: number): number
}

/** Each entry is checked once, since a log is append-only. */
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
