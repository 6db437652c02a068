import type { ThreadStore } from '../log/index.ts'
import type { MillraceError } from '../protocol/index.ts'
import { sleep, systemClock, toMillraceError } from '../protocol/index.ts'

export interface RetentionOptions {
  readonly store: ThreadStore
  /** Threads that have not changed for this many days are deleted. */
  readonly keepDays: number
  readonly deleteThread: (threadId: string) => Promise<boolean>
  readonly onError: (error: MillraceError) => void
}

const dayMs = 86_400_000
const firstMs = 10_000
const intervalMs = 3_600_000
/** Few enough that nothing else waits long for the store. */
const sliceLength = 20
const pauseMs = 50

/** Deletes old threads while the app is open. Several processes may do so at the same time. */
export function startRetention(options: RetentionOptions): { close(): Promise<void> } {
  const { store, keepDays, deleteThread } = options
  const closing = new AbortController()
  const { signal } = closing
  let timer = startAfter(firstMs)
  let sweeping = Promise.resolve()

  function startAfter(ms: number) {
    // Within a tenth, so that processes that started together do not all delete at once.
    const timer = setTimeout(start, ms * (0.9 + Math.random() / 5))
    timer.unref?.()
    return timer
  }

  function start() {
    sweeping = sweep()
      .catch(report)
      .then(() => {
        if (!signal.aborted) timer = startAfter(intervalMs)
      })
  }

  async function sweep() {
    /** Threads that could not be deleted, or that got a message after they were found. */
    const kept = new Set<string>()
    while (!signal.aborted) {
      const found = await store.findUnchanged(keepDays * dayMs, sliceLength)
      const left = found.filter((id) => !kept.has(id))
      if (left.length === 0) return
      for (const id of left) if (!(await deleteIfAtRest(id))) kept.add(id)
      await sleep(pauseMs, { clock: systemClock, signal })
    }
  }

  async function deleteIfAtRest(id: string): Promise<boolean> {
    try {
      const { status } = (await store.get(id)) ?? {}
      return !signal.aborted && (status === 'idle' || status === 'waiting') && (await deleteThread(id))
    } catch (thrown) {
      report(thrown)
      return false
    }
  }

  function report(thrown: unknown) {
    options.onError(toMillraceError(thrown, { op: 'millrace.keepDays', code: 'store_error' }))
  }

  return {
    /** Waits for a deletion in progress. */
    async close() {
      closing.abort()
      clearTimeout(timer)
      await sweeping
    },
  }
}

/** Deletes all threads of a user, until none is left. Returns how many it has deleted. */
export async function deleteThreadsOf(
  user: string,
  { store, deleteThread }: Pick<RetentionOptions, 'store' | 'deleteThread'>,
): Promise<number> {
  let count = 0
  for (;;) {
    const { threads } = await store.list({ user, limit: sliceLength })
    if (threads.length === 0) return count
    const deleted = await Promise.all(threads.map(({ id }) => deleteThread(id)))
    count += deleted.filter(Boolean).length
  }
}
