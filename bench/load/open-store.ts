import { postgresStore } from '@millrace/postgres'
import { sqliteStore } from 'millrace/sqlite'
import { memoryStore, type ThreadStore } from 'millrace/store'
import { plainWriter } from './plain-writer.ts'

/** Where threads are stored. `floor` is for comparison: plain inserts, and all else in memory. */
export type StorePlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'floor'; readonly url: string }

export function openStore(place: StorePlace): ThreadStore {
  if (place.kind === 'sqlite') return sqliteStore(place.file)
  return place.kind === 'postgres' ? postgresStore(place.url) : floorStore(place.url)
}

/**
 * Writes each entry durably before anything can read it, and keeps nothing else: no heads, no
 * leases, no fences. Processes know nothing of one another.
 */
function floorStore(url: string): ThreadStore {
  const memory = memoryStore()
  const writer = plainWriter(url)
  return {
    ...memory,
    async append(batches) {
      await (await writer).insert(batches.map(({ lease, events }) => ({ thread: lease.threadId, events })))
      return memory.append(batches)
    },
    async close() {
      await memory.close()
      await (await writer).close()
    },
  }
}
