import type { ThreadStore } from '../threads/index.ts'

// Several commands share one database file, each with its own model and tools. None of them may
// continue a run that was started with another command's.

/** Limits claims to `ids` and to threads that this process created, forked or sent something to. */
export function claimOnlyOwn(store: ThreadStore, ids: Iterable<string> = []): ThreadStore {
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
    async findRunnable(limit, ...rest) {
      if (own.size === 0) return []
      // The limit also counts threads of other commands, of which there may be many.
      const all = await store.findRunnable(Math.max(limit, 10_000), ...rest)
      return all.filter(({ id }) => own.has(id)).slice(0, limit)
    },
  }
}

/** For a process that reads threads and sends signals, and leaves the runs to others. */
export function withoutClaims(store: ThreadStore): ThreadStore {
  return { ...store, claim: async () => undefined, findRunnable: async () => [] }
}
