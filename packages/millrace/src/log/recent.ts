import type { Entry } from '../protocol/index.ts'
import type { Delivery } from './deliveries.ts'
import { firstOf } from './entries.ts'

/** The latest entries of a thread that is running, for clients that lost their connections for a moment. */
export interface RecentEntries {
  add(delivery: Delivery): void
  /** The entries after a number; undefined if some of them must be read from the store. */
  after(cursor: number): Entry[] | undefined
  clear(): void
}

/** Some seconds of text. */
const maxBytes = 16 * 1024
/** What is kept then. Removing each delivery by itself would move all others each time. */
const keptBytes = 12 * 1024

export function recentEntries(): RecentEntries {
  const kept: Delivery[] = []
  let bytes = 0

  function clear() {
    kept.length = bytes = 0
  }

  return {
    clear,
    add(delivery) {
      kept.push(delivery)
      bytes += delivery.bytes
      if (bytes <= maxBytes) return
      let dropped = 0
      while (bytes > keptBytes) bytes -= kept[dropped++]?.bytes ?? 0
      kept.splice(0, dropped)
    },
    after(cursor) {
      // From the end: most clients have missed little.
      const missed = kept.slice(kept.findLastIndex(({ entries }) => lastOf(entries) <= cursor) + 1)
      const entries = missed.flatMap((delivery) => delivery.entries)
      while (entries[0] && entries[0].seq <= cursor) entries.shift()
      const [first] = entries
      if (first) return firstOf(first) === cursor + 1 ? entries : undefined
      const latest = kept.at(-1)
      return latest && lastOf(latest.entries) === cursor ? [] : undefined
    },
  }
}

const lastOf = (entries: readonly Entry[]) => (entries.at(-1) as Entry).seq
