import { signal } from '@preact/signals'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Session } from '../session.ts'
import { selectedRun, shownEntry } from '../state.ts'
import type { EntryIndex } from './entry-index.ts'
import { entryIndex } from './entry-index.ts'
import type { EventFilter } from './filter.ts'
import { noFilter } from './filter.ts'

export interface Wanted extends Pick<EventFilter, 'kinds' | 'text'> {
  /** Only the events of the run that is chosen. */
  readonly onlyRun: boolean
}

const everything: Wanted = { ...noFilter, onlyRun: false }

/** What is to be seen of the raw events. It stays while one looks at something else in the panel. */
export const wanted = signal(everything)

export function want(some: Partial<Wanted>): void {
  wanted.value = { ...wanted.value, ...some }
}

export function wantAll(): void {
  wanted.value = everything
}

/** For so long at a time it looks through the log, so that the page stays quick however long that is. */
const sliceMs = 6
/** So many at least, between two looks at the clock. */
const few = 100

/** The entries that are wanted. It grows with the log, and frame by frame as it is looked through. */
export function useEntryIndex(session: Session): EntryIndex {
  const { entries } = session
  const [, drawAgain] = useState(0)
  const { kinds, text, onlyRun } = wanted.value
  const run = onlyRun ? selectedRun.value : undefined
  const from = run?.seq ?? 1
  const to = run?.outcome ? run.lastSeq : Infinity
  const index = useMemo(
    () => entryIndex(entries, { kinds, text, from, to }),
    [entries, kinds, text, from, to],
  )
  // Whoever reads this is drawn again when the log has grown.
  void session.tick.value
  const until = performance.now() + sliceMs
  do index.advance(few)
  while (!index.done && performance.now() < until)
  useEffect(() => {
    if (index.done) return
    const frame = requestAnimationFrame(() => drawAgain((times) => times + 1))
    return () => cancelAnimationFrame(frame)
  })
  return index
}

/** Shows the entry that somebody wants to see, once it is found. Where it is not among those shown, all are. */
export function useShownEntry(index: EntryIndex, show: (place: number) => void): void {
  // Read here, so that the list is drawn again when another is wanted.
  const { value: seq } = shownEntry
  useEffect(() => {
    if (seq === undefined) return
    const place = index.placeOf(seq)
    if (place >= 0) {
      shownEntry.value = undefined
      show(place)
    } else if (index.done) wantAll()
  })
}
