import type { Watch, Watcher } from './store.ts'

/** The watches of a store. */
export interface Watchers {
  readonly count: number
  open(watcher: Watcher, onClose?: () => void): Watch
  /**
   * Reports a change after the current operation has finished, so that watchers may use the store
   * right away. `head` is set if the log has grown and its length is known.
   */
  changed(threadId: string, head?: number): void
  runnable(): void
  missed(): void
  clear(): void
}

interface OpenWatch {
  readonly watcher: Watcher
  readonly followed: Set<string>
}

export function watchers(): Watchers {
  const watches = new Set<OpenWatch>()
  let changes = new Map<string, number | undefined>()
  let isRunnable = false
  let isMissed = false
  let isScheduled = false

  function schedule() {
    if (isScheduled || watches.size === 0) return
    isScheduled = true
    queueMicrotask(report)
  }

  function report() {
    const changed = changes
    const [runnable, missed] = [isRunnable, isMissed]
    changes = new Map()
    isRunnable = isMissed = isScheduled = false
    for (const watch of [...watches]) {
      const { watcher, followed } = watch
      for (const [id, head] of changed)
        if (followed.has(id) && watches.has(watch)) watcher.changed?.(id, head)
      if (runnable && watches.has(watch)) watcher.runnable?.()
      if (missed && watches.has(watch)) watcher.missed?.()
    }
  }

  return {
    get count() {
      return watches.size
    },
    open(watcher, onClose) {
      const watch: OpenWatch = { watcher, followed: new Set() }
      watches.add(watch)
      return {
        isReliable: true,
        follow: (threadId) => watch.followed.add(threadId),
        unfollow: (threadId) => watch.followed.delete(threadId),
        close() {
          if (watches.delete(watch)) onClose?.()
        },
      }
    },
    changed(threadId, head) {
      if (watches.size === 0) return
      changes.set(threadId, changes.has(threadId) ? mergeHeads(changes.get(threadId), head) : head)
      schedule()
    },
    runnable() {
      isRunnable = watches.size > 0
      schedule()
    },
    missed() {
      isMissed = watches.size > 0
      schedule()
    },
    clear() {
      watches.clear()
      changes.clear()
    },
  }
}

/**
 * Merges two changes into one notification. A change other than growth must not look like growth.
 */
function mergeHeads(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other)
}
