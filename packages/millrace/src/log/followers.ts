import type { Entry } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import type { Fold, ThreadFeed } from './feed.ts'
import { threadFeed } from './feed.ts'
import type { FollowerOptions, Following } from './follower.ts'
import { followFeed } from './follower.ts'
import type { ThreadStore } from './store.ts'

/**
 * Delivers what is written to the followers of threads. A live follower gets each entry as it becomes durable, the same object for
 * all of them. A follower that is behind reads from the store at its own pace, deltas joined, and delays no other.
 */
export interface Followers {
  /** Delivers entries that this process has made durable. */
  publish(threadId: string, entries: readonly Entry[]): void
  /** Another process may have written to the thread, as far as `head` if that is known. */
  changed(threadId: string, head?: number): void
  /** Every entry after a number. Ends with the signal, with the thread, or with `close()`. What it holds counts for `caller`. */
  follow(threadId: string, after: number, options?: FollowerOptions): Following
  /** Lets a fold read the log to its end and then take every new entry. Returns a function that detaches it. */
  attach(threadId: string, fold: Fold): Promise<() => void>
  /** The number of followers, and how many entries the slowest one has not received yet. */
  listeners(): { readonly count: number; readonly lag: number }
  /** Ends the followers of a deleted thread. */
  deleted(threadId: string): void
  close(): void
}

export function threadFollowers(store: ThreadStore, buffer: Budget): Followers {
  const feeds = new Map<string, ThreadFeed>()
  /** Threads that have changed since the last look, with their heads. */
  const news = new Map<string, number>()
  let isClosed = false

  function feedOf(threadId: string): ThreadFeed {
    const known = feeds.get(threadId)
    if (known) return known
    const feed = threadFeed({
      threadId,
      store,
      buffer,
      onUnused() {
        if (feeds.get(threadId) === feed) feeds.delete(threadId)
      },
    })
    feeds.set(threadId, feed)
    return feed
  }

  function readNews() {
    for (const [threadId, head] of news) feeds.get(threadId)?.changed(head)
    news.clear()
  }

  return {
    publish: (threadId, entries) => feeds.get(threadId)?.publish(entries),
    changed(threadId, head = Number.POSITIVE_INFINITY) {
      if (!feeds.has(threadId)) return
      if (news.size === 0) setTimeout(readNews)
      news.set(threadId, Math.max(head, news.get(threadId) ?? 0))
    },
    follow: (threadId, after, options) =>
      followFeed(feedOf(threadId), { ...options, threadId, after, store, buffer, isClosed }),
    attach: (threadId, fold) => feedOf(threadId).attach(fold),
    listeners() {
      let count = 0
      let lag = 0
      for (const { head, followers } of feeds.values())
        for (const { handed, reached } of followers) {
          count++
          // The head may not be known yet. Then it is at least what this follower has read.
          lag = Math.max(lag, Math.max(head, reached) - handed)
        }
      return { count, lag }
    },
    deleted: (threadId) => feeds.get(threadId)?.deleted(),
    close() {
      isClosed = true
      for (const { followers } of feeds.values()) for (const follower of [...followers]) follower.end()
    },
  }
}
