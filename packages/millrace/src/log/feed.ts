import type { Entry } from '../protocol/index.ts'
import { MillraceError, toMillraceError } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import type { Deliveries, Place } from './deliveries.ts'
import { deliveries } from './deliveries.ts'
import { firstOf } from './entries.ts'
import { entryBytes } from './entry-bytes.ts'
import type { ThreadStore } from './store.ts'
import { threadNotFound } from './store-errors.ts'
import { pause } from './turns.ts'

/** New entries of one thread, on their way to its fold and its followers. */
export interface ThreadFeed {
  /** The last number that this process knows of; 0 if it knows none. */
  readonly head: number
  readonly followers: ReadonlySet<Follower>
  add(follower: Follower): void
  remove(follower: Follower): void
  /** Lets a fold read the log to its end and then take every new entry. Returns a function that detaches it. */
  attach(fold: Fold): Promise<() => void>
  /** Delivers entries that this process has made durable. */
  publish(entries: readonly Entry[]): void
  /** Another process may have written, as far as `head`. Infinity means a change other than growth. */
  changed(head: number): void
  /** The thread was deleted. */
  deleted(): void
  /**
   * For a follower that has found nothing after `cursor`, with the head `known` from before that read. Gives it what is delivered from
   * now on, if that follows `cursor`. Otherwise it reads again, after the promise if there is one.
   */
  goLive(
    follower: Follower,
    at: { readonly cursor: number; readonly known: number },
  ): Place | Promise<unknown> | undefined
  endLive(follower: Follower, place: Place): void
  /** What live followers take from. */
  readonly deliveries: Deliveries
}

/** A thread that is being folded here. It gets each new entry at once, before any follower. */
export interface Fold {
  /** The last number that it has taken. */
  readonly head: number
  /** Resolves when the write under way is done. Until then, a read may return entries that the fold does not know as its own yet. */
  readonly writing: Promise<void> | undefined
  /** Reads the log from there to its end. Gives false if it was closed meanwhile, and has no use for more. */
  readOn(): Promise<boolean>
  take(entries: readonly Entry[], bytes: number): void
  /** Nothing more comes: the thread was deleted, or, with an error, its log cannot be read. */
  end(error?: MillraceError): void
}

/** What a feed knows of a follower. */
export interface Follower {
  /** The last number that it has read or been delivered. */
  readonly reached: number
  /** The last number that it has returned from `next()`. */
  readonly handed: number
  /** Called before a delivery. A follower with too much waiting falls behind, and is live no more. */
  expect(count: number, bytes: number, limits: Limits): void
  /** Ends the follower, with an error or without. */
  end(error?: unknown): void
}

interface Limits {
  readonly entries: number
  readonly bytes: number
}

/** So much may wait for a live follower before it counts as behind. One delivery may be larger. */
const usual: Limits = { entries: 512, bytes: 1024 * 1024 }
/** The same while the process holds too much. */
const scarce: Limits = { ...usual, bytes: 64 * 1024 }
export const pageSize = 512
const op = 'thread.follow'

interface FeedOptions {
  readonly threadId: string
  readonly store: ThreadStore
  readonly buffer: Budget
  /** Called when there is no follower and no fold any more. */
  readonly onUnused: () => void
}

export function threadFeed({ threadId, store, buffer, onUnused }: FeedOptions): ThreadFeed {
  const followers = new Set<Follower>()
  const live = new Set<Follower>()
  const delivered = deliveries(buffer)
  let head = 0
  let fold: Fold | undefined
  /** A fold is about to be attached. */
  let isAwaited = false
  /** Something was written that was not delivered yet. */
  let stale = false
  let reading: Promise<void> | undefined

  /** A live follower or a fold gets each entry as it becomes durable. */
  const hasLive = () => live.size > 0 || fold !== undefined

  function deliver(entries: readonly Entry[]) {
    head = (entries.at(-1) as Entry).seq
    let bytes = 0
    const sized = entries.map((entry) => {
      const size = entryBytes(entry)
      bytes += size
      return { entry, bytes: size }
    })
    fold?.take(entries, bytes)
    const limits = buffer.isFull() ? scarce : usual
    for (const follower of live) follower.expect(entries.length, bytes, limits)
    delivered.push(sized, limits)
  }

  /** Reads what was not delivered yet. Does nothing while such a read is under way. */
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
        // Meanwhile some may have been published.
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

  /** The thread may be deleted, or another with a shorter log under the same id. */
  async function checkThread() {
    // Taken before the query: the log may grow meanwhile.
    const known = head
    const info = await store.get(threadId).catch(() => undefined)
    if (!info || info.head >= known || head < known) return catchUp()
    // These have read past the end of the log: they were reading an earlier thread of this id.
    end(threadNotFound(op, threadId), ({ reached }) => reached > info.head)
    head = info.head
  }

  function end(error: unknown, isMeant: (follower: Follower) => boolean = () => true) {
    for (const follower of [...followers]) if (isMeant(follower)) follower.end(error)
    fold?.end(isGone(error) ? undefined : toMillraceError(error, { op, code: 'store_error' }))
  }

  /** Whether a reader is where the live followers are. If not, it reads again, after the promise if there is one. */
  function hasCaughtUp(
    { cursor, known }: { readonly cursor: number; readonly known: number },
    self?: Follower,
  ): boolean | Promise<unknown> {
    if (known > cursor) {
      // The log is shorter than before: this is another thread, created under the id of a deleted one.
      end(threadNotFound(op, threadId), (follower) => follower !== self)
      head = cursor
    }
    if (head > cursor) return false
    if (head < cursor && hasLive()) {
      // This reader is ahead of the live followers: they must be delivered these entries first.
      catchUp()
      return reading ?? false
    }
    head = cursor
    return true
  }

  function dropUnused() {
    if (followers.size === 0 && !fold && !isAwaited) onUnused()
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
        isAwaited = false
        if (fold === added) fold = undefined
        dropUnused()
      }
      isAwaited = true
      try {
        for (let isReady: boolean | Promise<unknown> = false; isReady !== true; ) {
          await isReady
          const known = head
          if (!(await added.readOn())) return detach
          isReady = hasCaughtUp({ cursor: added.head, known })
        }
      } catch (error) {
        detach()
        throw error
      }
      fold = added
      isAwaited = false
      if (stale) catchUp()
      return detach
    },

    publish(entries) {
      const [first] = entries
      if (!first) return
      const last = (entries.at(-1) as Entry).seq
      if (!hasLive()) head = Math.max(head, last)
      else if (firstOf(first) === head + 1) deliver(entries)
      else if (last > head) catchUp()
    },
    changed(told) {
      // Our own writes are reported too. By now they are published.
      if (head >= told) return
      if (Number.isFinite(told)) catchUp()
      else void checkThread()
    },
    deleted: () => end(threadNotFound(op, threadId)),

    goLive(follower, at) {
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
    deliveries: delivered,
  }
}

/** Following a deleted thread ends without an error. */
export function isGone(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'not_found'
}
