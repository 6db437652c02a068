import type { WatchListener } from './store.ts'

/** Who is told of changes, and telling them. */
export interface Watchers {
  readonly count: number
  add(listener: WatchListener): () => void
  /** After whatever is being done has come to an end: a listener may use the store at once. `head` where it is known. */
  tell(threadIds: Iterable<string>, head?: number): void
  clear(): void
}

export function watchers(): Watchers {
  const listeners = new Set<{ readonly hear: WatchListener }>()
  const waiting = new Map<string, number | undefined>()

  function tellAll() {
    const changed = [...waiting]
    waiting.clear()
    for (const listener of [...listeners])
      for (const [id, head] of changed) if (listeners.has(listener)) listener.hear(id, head)
  }

  return {
    get count() {
      return listeners.size
    },
    add(hear) {
      // Its own object, so that the same function given twice is told twice and ended one at a time.
      const listener = { hear }
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    tell(threadIds, head) {
      if (listeners.size === 0) return
      if (waiting.size === 0) queueMicrotask(tellAll)
      for (const id of threadIds) waiting.set(id, waiting.has(id) ? further(waiting.get(id), head) : head)
    },
    clear() {
      listeners.clear()
      waiting.clear()
    },
  }
}

/** Of two changes that are told as one. One that is more than growth must not look like growth. */
function further(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other)
}
