import type { Entry } from '../protocol/index.ts'
import type { Budget } from './budget.ts'

/** Delivered entries, kept once for all live followers until the last of them has sent them. */
export interface Deliveries {
  /**
   * Adds entries. Trims when it holds about twice as many entries, or bytes, as one follower may
   * have waiting.
   */
  push(entries: readonly Delivered[], limits: { readonly entries: number; readonly bytes: number }): void
  /** Opens a place before the next delivery. It starts as busy. */
  open(): Place
  close(place: Place): void
  /** How many entries, and bytes, are waiting there. */
  count(place: Place): number
  bytes(place: Place): number
  /** The last entry that is waiting there. */
  last(place: Place): Entry | undefined
  /** The bytes of the last entry taken, which is being sent until the next one is taken. */
  sending(place: Place): number
  take(place: Place): Entry | undefined
  takeAll(place: Place): Entry[]
  /**
   * Idle means that everything was taken and sent, so nothing is needed before the next delivery.
   */
  setIdle(place: Place, isIdle: boolean): void
}

/**
 * The position of one live follower. Plain data, since there are many; only `Deliveries` changes
 * it.
 */
export interface Place {
  /** The number of the next entry to take, counted in deliveries, and the bytes before it. */
  at: number
  bytesBefore: number
  isIdle: boolean
}

interface Delivered {
  readonly entry: Entry
  readonly bytes: number
}

export function deliveries(buffer: Budget): Deliveries {
  /** Entries that some follower still needs, and the number of the first one. */
  const recent: Delivered[] = []
  let first = 0
  /** The bytes of all entries ever pushed, and of those in `recent`. */
  let pushed = 0
  let held = 0
  const places = new Set<Place>()
  let busy = 0

  const end = () => first + recent.length

  /**
   * Drops the entries that no follower needs any more. The last entry taken is still being sent.
   */
  function trim() {
    let needed = end()
    if (busy > 0)
      for (const { at, isIdle } of places) needed = Math.min(needed, isIdle ? at : Math.max(first, at - 1))
    let bytes = 0
    for (const dropped of recent.splice(0, needed - first)) bytes += dropped.bytes
    first = needed
    held -= bytes
    buffer.add(-bytes)
  }

  function setBusy(change: 1 | -1) {
    busy += change
    if (busy === 0 && held > 0) trim()
  }

  return {
    push(entries, limits) {
      if (places.size === 0) return
      let bytes = 0
      for (const one of entries) {
        recent.push(one)
        bytes += one.bytes
      }
      pushed += bytes
      held += bytes
      buffer.add(bytes)
      if (recent.length > 2 * limits.entries || held > 2 * limits.bytes) trim()
    },
    open() {
      const place = { at: end(), bytesBefore: pushed, isIdle: false }
      places.add(place)
      setBusy(1)
      return place
    },
    close(place) {
      if (places.delete(place) && !place.isIdle) setBusy(-1)
    },
    count: ({ at }) => end() - at,
    bytes: ({ bytesBefore }) => pushed - bytesBefore,
    last: ({ at }) => (at < end() ? recent.at(-1)?.entry : undefined),
    sending: ({ at }) => recent[at - 1 - first]?.bytes ?? 0,
    take(place) {
      const next = recent[place.at - first]
      if (!next) return undefined
      place.at++
      place.bytesBefore += next.bytes
      return next.entry
    },
    takeAll(place) {
      const rest = recent.slice(place.at - first)
      place.at = end()
      place.bytesBefore = pushed
      return rest.map(({ entry }) => entry)
    },
    setIdle(place, isIdle) {
      if (place.isIdle === isIdle) return
      place.isIdle = isIdle
      setBusy(isIdle ? -1 : 1)
    },
  }
}
