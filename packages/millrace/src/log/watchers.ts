import type { WatchListener } from './store.ts'

/** Listeners for changes to threads. */
export interface Watchers {
  readonly count: number
  add(listener: WatchListener): () => void
  /**
   * Notifies listeners after the current operation has finished, so that they may use the store
   * right away. `head` is set if it is known.
   */
  notify(threadIds: Iterable<string>, head?: number): void
  clear(): void
}

export function watchers(): Watchers {
  const listeners = new Set<{ readonly call: WatchListener }>()
  const waiting = new Map<string, number | undefined>()

  function notifyAll() {
    const changed = [...waiting]
    waiting.clear()
    for (const listener of [...listeners])
      for (const [id, head] of changed) if (listeners.has(listener)) listener.call(id, head)
  }

  return {
    get count() {
      return listeners.size
    },
    add(call) {
      // A separate object for each call, so that a function added twice is called twice and can be
      // removed one at a time.
      const listener = { call }
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify(threadIds, head) {
      if (listeners.size === 0) return
      if (waiting.size === 0) queueMicrotask(notifyAll)
      for (const id of threadIds) waiting.set(id, waiting.has(id) ? mergeHeads(waiting.get(id), head) : head)
    },
    clear() {
      listeners.clear()
      waiting.clear()
    },
  }
}

/**
 * Merges two changes into one notification. A change other than growth must not look like growth.
 */
function mergeHeads(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other)
}
