import type { Entry } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import type { Fold, ThreadFeed } from './feed.ts'
import { threadFeed } from './feed.ts'
import type { FollowerOptions, Following } from './follower.ts'
import { followFeed } from './follower.ts'
import type { ThreadStore } from './store.ts'

/**
 * Delivers new entries to the followers of threads. A live follower gets each entry as it becomes
 * durable; all of them get the same object. A follower that is behind reads from the store at its
 * own pace, with deltas joined, and delays no other follower.
 */
export interface Followers {
  /** Delivers entries that this process has made durable. */
  publish(threadId: string, entries: readonly Entry[]): void
  /** Another process may have written to the thread, as far as `head` if that is known. */
  changed(threadId: string, head?: number): void
  /**
   * Follows every entry after a number. Ends with the signal, with the thread, or with `close()`.
   * The bytes it holds count for `caller`.
   */
  follow(threadId: string, after: number, options?: FollowerOptions): Following
  /**
   * Lets a fold read the log to its end and then take every new entry. Returns a function that
   * detaches it.
   */
  attach(threadId: string, fold: Fold): Promise<() => void>
  /** The number of followers, and how many entries the slowest one has not received yet. */
  stats(): { readonly count: number; readonly lag: number }
  /** Ends the followers of a deleted thread. */
  deleted(threadId: string): void
  close(): void
}

/** How long a change can stay unnoticed whose notification was lost. */
const lookAgainMs = 2000
/** The same in a store that loses none: with a thousand threads, looking takes milliseconds. */
const seldomMs = 30_000

export function threadFollowers(store: ThreadStore, buffer: Budget): Followers {
  const feeds = new Map<string, ThreadFeed>()
  /** Threads that have changed since the last check, with their heads. */
  const changes = new Map<string, number>()
  const watch = store.watch({ changed, missed: () => void lookAgain() })
  const timer = setInterval(lookAgain, watch.isReliable ? seldomMs : lookAgainMs)
  timer.unref?.()
  let looking = false
  let isClosed = false

  function feedOf(threadId: string): ThreadFeed {
    const known = feeds.get(threadId)
    if (known) return known
    const feed = threadFeed({
      threadId,
      store,
      buffer,
      onUnused() {
        if (feeds.get(threadId) !== feed) return
        feeds.delete(threadId)
        watch.unfollow(threadId)
      },
    })
    feeds.set(threadId, feed)
    watch.follow(threadId)
    return feed
  }

  function changed(threadId: string, head = Number.POSITIVE_INFINITY) {
    if (!feeds.has(threadId)) return
    if (changes.size === 0) setTimeout(applyChanges)
    changes.set(threadId, Math.max(head, changes.get(threadId) ?? 0))
  }

  /** Finds changes that were not reported. */
  async function lookAgain() {
    if (looking || feeds.size === 0) return
    looking = true
    const known = new Map([...feeds].map(([threadId, { head }]) => [threadId, head]))
    try {
      const heads = await store.heads([...known.keys()])
      for (const [threadId, before] of known) {
        const head = heads.get(threadId)
        // A missing or shorter log is another change than growth.
        if (head !== before) changed(threadId, head !== undefined && head > before ? head : undefined)
      }
    } catch {
      // Calls that need the store report the failure, and the next poll is soon.
    } finally {
      looking = false
    }
  }

  function applyChanges() {
    for (const [threadId, head] of changes) feeds.get(threadId)?.changed(head)
    changes.clear()
  }

  return {
    publish: (threadId, entries) => feeds.get(threadId)?.publish(entries),
    changed,
    follow: (threadId, after, options) =>
      followFeed(feedOf(threadId), { ...options, threadId, after, store, buffer, isClosed }),
    attach: (threadId, fold) => feedOf(threadId).attach(fold),
    stats() {
      let count = 0
      let lag = 0
      for (const { head, followers } of feeds.values())
        for (const { returned, reached } of followers) {
          count++
          // The head may not be known yet. Then it is at least what this follower has read.
          lag = Math.max(lag, Math.max(head, reached) - returned)
        }
      return { count, lag }
    },
    deleted: (threadId) => feeds.get(threadId)?.deleted(),
    close() {
      isClosed = true
      clearInterval(timer)
      watch.close()
      for (const { followers } of feeds.values()) for (const follower of [...followers]) follower.end()
    },
  }
}
