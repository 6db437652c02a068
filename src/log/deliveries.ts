import type { Entry } from '../protocol/index.ts'
import type { Budget } from './budget.ts'

/** Entries that were delivered, kept once for all live followers until the last of them is done with them. */
export interface Deliveries {
  /** Trims itself when it holds about twice as many entries, or bytes, as one follower may have waiting. */
  push(entries: readonly Delivered[], limits: { readonly entries: number; readonly bytes: number }): void
  /** A reader of what is delivered from now on. It counts as busy. */
  open(): DeliveryReader
}

export interface Delivered {
  readonly entry: Entry
  readonly bytes: number
}

/** Where one live follower stands. */
export interface DeliveryReader {
  /** How many entries, and bytes, wait for it. */
  readonly count: number
  readonly bytes: number
  /** The last entry that waits for it. */
  readonly last: Entry | undefined
  /** The bytes of the entry that it has taken last, which is being sent until it takes the next. */
  readonly sending: number
  /** It has taken everything, and needs nothing before the next delivery. */
  isIdle: boolean
  take(): Entry | undefined
  takeAll(): Entry[]
  close(): void
}

export function deliveries(buffer: Budget): Deliveries {
  /** The place of an entry is `first` plus its index. */
  const recent: Delivered[] = []
  let first = 0
  /** The bytes of all entries that were ever pushed, and of those in `recent`. */
  let pushed = 0
  let held = 0
  /** For each reader, the place of the first entry that it still needs, be it only to send it. */
  const readers = new Set<() => number>()
  let busy = 0

  const end = () => first + recent.length

  /** Drops the entries that no reader needs any more. */
  function trim() {
    let needed = end()
    if (busy > 0) for (const needs of readers) needed = Math.min(needed, needs())
    let bytes = 0
    for (const gone of recent.splice(0, needed - first)) bytes += gone.bytes
    first = needed
    held -= bytes
    buffer.add(-bytes)
  }

  function setBusy(change: 1 | -1) {
    busy += change
    if (busy === 0 && held > 0) trim()
  }

  function open(): DeliveryReader {
    /** The place of the next entry to take, and the bytes before it. */
    let place = end()
    let bytesBefore = pushed
    let isIdle = false
    const needs = () => (isIdle ? place : Math.max(first, place - 1))
    readers.add(needs)
    setBusy(1)
    return {
      get count() {
        return end() - place
      },
      get bytes() {
        return pushed - bytesBefore
      },
      get last() {
        return place < end() ? recent.at(-1)?.entry : undefined
      },
      get sending() {
        return recent[place - 1 - first]?.bytes ?? 0
      },
      get isIdle() {
        return isIdle
      },
      set isIdle(value) {
        if (value === isIdle) return
        isIdle = value
        setBusy(value ? -1 : 1)
      },
      take() {
        const next = recent[place - first]
        if (!next) return undefined
        place++
        bytesBefore += next.bytes
        return next.entry
      },
      takeAll() {
        const rest = recent.slice(place - first)
        place = end()
        bytesBefore = pushed
        return rest.map(({ entry }) => entry)
      },
      close() {
        if (readers.delete(needs) && !isIdle) setBusy(-1)
      },
    }
  }

  return {
    push(entries, limits) {
      if (readers.size === 0) return
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
    open,
  }
}
