import { signal } from '@preact/signals'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Session } from '../session.ts'
import { selectedRun, shownEntry } from '../state.ts'
import type { EntryIndex } from './entry-index.ts'
import { entryIndex } from './entry-index.ts'
import type { EventFilter } from './filter.ts'
import { noFilter } from './filter.ts'

export interface PanelFilter extends Pick<EventFilter, 'kinds' | 'text'> {
  /** Only the events of the selected run. */
  readonly onlyRun: boolean
}

const noPanelFilter: PanelFilter = { ...noFilter, onlyRun: false }

/** The filter of the raw events. It is kept while another tab of the panel is open. */
export const panelFilter = signal(noPanelFilter)

export function setFilter(some: Partial<PanelFilter>): void {
  panelFilter.value = { ...panelFilter.value, ...some }
}

export function clearFilter(): void {
  panelFilter.value = noPanelFilter
}

/** How long the log is searched per frame, so that the page stays responsive. */
const sliceMs = 6
/** How many entries are searched between two checks of the time. */
const batchSize = 100

/** The entries that match the filter. Grows with the log, and frame by frame while searching. */
export function useEntryIndex(session: Session): EntryIndex {
  const { entries } = session
  const [, drawAgain] = useState(0)
  const { kinds, text, onlyRun } = panelFilter.value
  const run = onlyRun ? selectedRun.value : undefined
  const from = run?.seq ?? 1
  const to = run?.outcome ? run.lastSeq : Infinity
  const index = useMemo(
    () => entryIndex(entries, { kinds, text, from, to }),
    [entries, kinds, text, from, to],
  )
  // Subscribes to changes of the log.
  void session.tick.value
  const until = performance.now() + sliceMs
  do index.advance(batchSize)
  while (!index.done && performance.now() < until)
  useEffect(() => {
    if (index.done) return
    const frame = requestAnimationFrame(() => drawAgain((times) => times + 1))
    return () => cancelAnimationFrame(frame)
  })
  return index
}

/** Shows the requested entry once it is found. Clears the filter if it hides the entry. */
export function useShownEntry(index: EntryIndex, show: (place: number) => void): void {
  // Read here to subscribe.
  const { value: seq } = shownEntry
  useEffect(() => {
    if (seq === undefined) return
    const place = index.placeOf(seq)
    if (place >= 0) {
      shownEntry.value = undefined
      show(place)
    } else if (index.done) clearFilter()
  })
}
