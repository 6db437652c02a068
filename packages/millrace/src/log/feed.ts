import type { Entry, RunEvent } from '../protocol/index.ts'
import { MillraceError, textOfDelta, toMillraceError } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import type { Deliveries, Delivery, Place } from './deliveries.ts'
import { deliveries } from './deliveries.ts'
import { firstOf } from './entries.ts'
import { entryBytes } from './entry-bytes.ts'
import { pace } from './pace.ts'
import { recentEntries } from './recent.ts'
import type { ThreadStore } from './store.ts'
import { threadNotFound } from './store-errors.ts'
import { pause } from './turns.ts'

/** New entries of one thread, on their way to its fold and its followers. */
export interface ThreadFeed {
  /** The last number that this process knows of; 0 if none. */
  readonly head: number
  readonly followers: ReadonlySet<Follower>
  add(follower: Follower): void
  remove(follower: Follower): void
  /**
   * Lets a fold read the log to its end and then take every new entry. Returns a function that
   * detaches it.
   */
  attach(fold: Fold): Promise<() => void>
  /** Delivers entries that this process has made durable. */
  publish(entries: readonly Entry[]): void
  /** Another process may have written, as far as `head`. Infinity means a change other than growth. */
  changed(head: number): void
  /** The thread was deleted. */
  deleted(): void
  /**
   * For a follower that has found nothing after `cursor`; `known` is the head from before that
   * read. If the next delivery continues at `cursor`, the follower gets a place among the
   * deliveries. Otherwise it reads again, after the promise if there is one.
   */
  goLive(
    follower: Follower,
    at: { readonly cursor: number; readonly known: number },
  ): Place | Promise<unknown> | undefined
  endLive(follower: Follower, place: Place): void
  /**
   * The entries up to `head` after a number, if they are still in memory. A follower that takes them
   * can go live in the same turn.
   */
  recentAfter(cursor: number): Entry[] | undefined
  /** What live followers take from. */
  readonly deliveries: Deliveries
}

/** The fold of a thread in this process. It gets each new entry right away, before any follower. */
export interface Fold {
  /** The last number that it has folded. */
  readonly head: number
  /**
   * Resolves when the current write is done. Until then, a read may return entries that the fold
   * does not recognize as its own yet.
   */
  readonly writing: Promise<void> | undefined
  /**
   * Reads the log from `head` to its end. Returns false if the fold was closed in the meantime and
   * needs no more entries.
   */
  readToEnd(): Promise<boolean>
  take(entries: readonly Entry[], bytes: number): void
  /**
   * Called when no more entries will come: the thread was deleted or, with an error, its log cannot
   * be read.
   */
  end(error?: MillraceError): void
}

/** What a feed knows of a follower. */
export interface Follower {
  /** The last number that it has read or been delivered. */
  readonly reached: number
  /** The last number that it has returned from `next()`. */
  readonly returned: number
  /**
   * Called with each delivery, before it is added to `deliveries`. A follower with too much waiting
   * falls behind and is no longer live.
   */
  deliver(delivery: Delivery, limits: Limits): void
  /** Ends the follower, with an error or without. */
  end(error?: unknown): void
}

interface Limits {
  readonly entries: number
  readonly bytes: number
}

/**
 * How much may wait for a live follower before it counts as behind. A single delivery may be
 * larger.
 */
const normalLimits: Limits = { entries: 512, bytes: 1024 * 1024 }
/** The limits while the process holds too much. */
const reducedLimits: Limits = { ...normalLimits, bytes: 64 * 1024 }
/** With this many live followers, handing out entries takes time that other threads need. */
const crowd = 32
export const pageSize = 512
const op = 'thread.follow'

interface FeedOptions {
  readonly threadId: string
  readonly store: ThreadStore
  readonly buffer: Budget
  /** Called when the last follower or fold is gone. */
  readonly onUnused: () => void
}

export function threadFeed({ threadId, store, buffer, onUnused }: FeedOptions): ThreadFeed {
  const followers = new Set<Follower>()
  const live = new Set<Follower>()
  const delivered = deliveries(buffer)
  const paced = pace(handOut)
  /** Empty without a fold: a thread at rest should keep little in memory. */
  const recent = recentEntries()
  let head = 0
  let fold: Fold | undefined
  /** A fold is about to be attached. */
  let isAttaching = false
  /** Something was written that has not been delivered yet. */
  let stale = false
  let reading: Promise<void> | undefined

  /** A live follower or a fold gets each entry as it becomes durable. */
  const hasLive = () => live.size > 0 || fold !== undefined

  function deliver(entries: readonly Entry[]) {
    head = (entries.at(-1) as Entry).seq
    let bytes = 0
    for (const entry of entries) bytes += entryBytes(entry)
    const delivery = { entries, bytes }
    if (fold) {
      recent.add(delivery)
      fold.take(entries, delivery.bytes)
    }
    if (live.size < crowd && !paced.isWaiting) handOut(delivery)
    else paced.add(delivery, !entries.every(isDelta))
  }

  function handOut(delivery: Delivery) {
    const limits = buffer.isFull() ? reducedLimits : normalLimits
    for (const follower of live) follower.deliver(delivery, limits)
    delivered.push(delivery, limits)
  }

  /** Reads what has not been delivered yet. Does nothing while a read is running. */
  function catchUp() {
    stale = true
    if (hasLive()) reading ??= readNew()
  }

  async function readNew() {
    try {
      while (stale && hasLive()) {
        stale = false
        await pause(0)
        const after = head
        const entries = await store.read(threadId, { after, limit: pageSize })
        await fold?.writing
        // Entries may have been published during the read.
        if (head !== after) stale = true
        else if (entries.length > 0) {
          deliver(entries)
          stale = true
        }
      }
    } catch (error) {
      end(error)
    } finally {
      reading = undefined
    }
  }

  /**
   * Handles a change other than growth. The thread may have been deleted, and another one with a
   * shorter log may have been created under the same id.
   */
  async function checkThread() {
    // Read before the query, since the log may grow during it.
    const known = head
    const info = await store.get(threadId).catch(() => undefined)
    if (!info || info.head >= known || head < known) return catchUp()
    // These followers have read past the end of the log: they were reading an earlier thread with
    // this id.
    end(threadNotFound(op, threadId), ({ reached }) => reached > info.head)
    jumpTo(info.head)
  }

  /** Continues at a number up to which nothing was delivered. */
  function jumpTo(seq: number) {
    if (head !== seq) recent.clear()
    head = seq
  }

  function end(error: unknown, matches: (follower: Follower) => boolean = () => true) {
    paced.flush()
    recent.clear()
    for (const follower of [...followers]) if (matches(follower)) follower.end(error)
    fold?.end(isGone(error) ? undefined : toMillraceError(error, { op, code: 'store_error' }))
  }

  /**
   * Whether a reader is where the live followers are. If not, it reads again, after the promise if
   * there is one.
   */
  function hasCaughtUp(
    { cursor, known }: { readonly cursor: number; readonly known: number },
    self?: Follower,
  ): boolean | Promise<unknown> {
    if (known > cursor) {
      // The log is shorter than before: this is another thread, created under the id of a deleted one.
      end(threadNotFound(op, threadId), (follower) => follower !== self)
      jumpTo(cursor)
    }
    if (head > cursor) return false
    if (head < cursor && hasLive()) {
      // This reader is ahead of the live followers: they must be delivered these entries first.
      catchUp()
      return reading ?? false
    }
    jumpTo(cursor)
    return true
  }

  function dropUnused() {
    if (followers.size === 0 && !fold && !isAttaching) onUnused()
  }

  return {
    get head() {
      return head
    },
    followers,
    add: (follower) => followers.add(follower),
    remove(follower) {
      followers.delete(follower)
      dropUnused()
    },

    async attach(added) {
      const detach = () => {
        isAttaching = false
        if (fold === added) {
          fold = undefined
          recent.clear()
        }
        dropUnused()
      }
      isAttaching = true
      try {
        for (let isReady: boolean | Promise<unknown> = false; isReady !== true; ) {
          await isReady
          const known = head
          if (!(await added.readToEnd())) return detach
          isReady = hasCaughtUp({ cursor: added.head, known })
        }
      } catch (error) {
        detach()
        throw error
      }
      fold = added
      isAttaching = false
      if (stale) catchUp()
      return detach
    },

    publish(entries) {
      const [first] = entries
      if (!first) return
      const last = (entries.at(-1) as Entry).seq
      if (!hasLive()) jumpTo(Math.max(head, last))
      else if (firstOf(first) === head + 1) deliver(entries)
      else if (last > head) catchUp()
    },
    changed(reportedHead) {
      // Our own writes are reported too, but they are already published.
      if (head >= reportedHead) return
      if (Number.isFinite(reportedHead)) catchUp()
      else void checkThread()
    },
    deleted: () => end(threadNotFound(op, threadId)),

    goLive(follower, at) {
      // It has read these.
      paced.flush()
      const isReady = hasCaughtUp(at, follower)
      if (isReady !== true) return isReady || undefined
      live.add(follower)
      if (stale) catchUp()
      return delivered.open()
    },
    endLive(follower, place) {
      live.delete(follower)
      delivered.close(place)
    },
    recentAfter: (cursor) => recent.after(cursor),
    deliveries: delivered,
  }
}

function isDelta({ event }: Entry): boolean {
  return textOfDelta(event as RunEvent) !== undefined
}

/** Following a deleted thread ends without an error. */
export function isGone(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'not_found'
}
