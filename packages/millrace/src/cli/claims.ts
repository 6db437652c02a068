import type { ThreadStore } from '../threads/index.ts'

// Many commands share one file, each with a model and tools of its own: none may pick up what was begun with another's.

/** The same store for a process that works only on the threads it has spoken to, and on `ids`. */
export function onlyOwn(store: ThreadStore, ids: Iterable<string> = []): ThreadStore {
  const own = new Set(ids)
  return {
    ...store,
    create(thread, options) {
      own.add(thread.id)
      return store.create(thread, options)
    },
    fork(threadId, at, thread, options) {
      own.add(thread.id)
      return store.fork(threadId, at, thread, options)
    },
    signal(threadId, ...rest) {
      own.add(threadId)
      return store.signal(threadId, ...rest)
    },
    async claim(threadId, ...rest) {
      return own.has(threadId) ? store.claim(threadId, ...rest) : undefined
    },
    async stranded(limit, ...rest) {
      if (own.size === 0) return []
      // Those of others count too, and may be many.
      const all = await store.stranded(Math.max(limit, 10_000), ...rest)
      return all.filter((id) => own.has(id)).slice(0, limit)
    },
  }
}

/** The same store for who looks on and leaves word: the work is for others. */
export function onlyLooking(store: ThreadStore): ThreadStore {
  return { ...store, claim: async () => undefined, stranded: async () => [] }
}
