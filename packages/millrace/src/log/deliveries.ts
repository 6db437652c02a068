import type { Entry } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import { entryBytes } from './entry-bytes.ts'

/** Entries that are delivered together, and their bytes. */
export interface Delivery {
  readonly entries: readonly Entry[]
  readonly bytes: number
}

/** Delivered entries, kept once for all live followers until the last of them has sent them. */
export interface Deliveries {
  /**
   * Adds a delivery, unless all followers are idle. Trims when it holds about twice as many entries,
   * or bytes, as one follower may have waiting.
   */
  push(delivery: Delivery, limits: { readonly entries: number; readonly bytes: number }): void
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
  /** Everything was taken and sent, so nothing is needed before the next delivery. */
  setIdle(place: Place): void
  /** Called before a delivery is added: its follower needs it or, with `taken`, is sending it. */
  setBusy(place: Place, taken?: Delivery): void
}

/**
 * The position of one live follower. Plain data, since there are many; only `Deliveries` changes
 * it.
 */
export interface Place {
  /**
   * The number of the next entry to take, counted in deliveries, and the bytes before it. An idle
   * place is at the end, whatever these say: a delivery to a thousand of them changes none.
   */
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
      for (const { at, isIdle } of places) if (!isIdle) needed = Math.min(needed, Math.max(first, at - 1))
    let bytes = 0
    for (const dropped of recent.splice(0, needed - first)) bytes += dropped.bytes
    first = needed
    held -= bytes
    buffer.add(-bytes)
  }

  function changeBusy(change: 1 | -1) {
    busy += change
    if (busy === 0 && held > 0) trim()
  }

  return {
    push({ entries, bytes }, limits) {
      if (busy === 0) return
      for (const entry of entries) recent.push({ entry, bytes: entryBytes(entry) })
      pushed += bytes
      held += bytes
      buffer.add(bytes)
      if (recent.length > 2 * limits.entries || held > 2 * limits.bytes) trim()
    },
    open() {
      const place = { at: end(), bytesBefore: pushed, isIdle: false }
      places.add(place)
      changeBusy(1)
      return place
    },
    close(place) {
      if (places.delete(place) && !place.isIdle) changeBusy(-1)
    },
    count: ({ at, isIdle }) => (isIdle ? 0 : end() - at),
    bytes: ({ bytesBefore, isIdle }) => (isIdle ? 0 : pushed - bytesBefore),
    last: ({ at, isIdle }) => (!isIdle && at < end() ? recent.at(-1)?.entry : undefined),
    sending: ({ at, isIdle }) => (isIdle ? 0 : (recent[at - 1 - first]?.bytes ?? 0)),
    take(place) {
      const next = place.isIdle ? undefined : recent[place.at - first]
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
    setIdle(place) {
      if (place.isIdle) return
      place.isIdle = true
      changeBusy(-1)
    },
    setBusy(place, taken) {
      place.isIdle = false
      place.at = end() + (taken?.entries.length ?? 0)
      place.bytesBefore = pushed + (taken?.bytes ?? 0)
      changeBusy(1)
    },
  }
}
