import type { Entry } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import type { Place } from './deliveries.ts'
import { joinEntries } from './entries.ts'
import { entryBytes } from './entry-bytes.ts'
import type { Follower, ThreadFeed } from './feed.ts'
import { isGone, pageSize } from './feed.ts'
import type { ThreadStore } from './store.ts'
import { pause } from './turns.ts'

export interface FollowerOptions {
  readonly signal?: AbortSignal | undefined
  readonly caller?: string | undefined
}

export interface Following extends AsyncIterableIterator<Entry, undefined> {
  /**
   * Returns the next entry if it is available without waiting. Lets a client write many entries at
   * once.
   */
  ready(): Entry | undefined
  /**
   * For a reader that would have to wait: calls `onEntries` with all entries that arrive together,
   * as they arrive, as long as it returns true. It is called in the middle of a delivery, and must
   * not wait for anything. Followers of one thread get the same array. Resolves when `next()` must
   * be called: `onEntries` returned false, more arrived than it should get at once, or the follower
   * ends. Returns undefined if that is so already.
   */
  listen(onEntries: (entries: readonly Entry[]) => boolean): Promise<void> | undefined
}

interface FollowFeed extends FollowerOptions {
  readonly threadId: string
  readonly after: number
  readonly store: ThreadStore
  readonly buffer: Budget
  /** Followers are closed: this one ends immediately. */
  readonly isClosed: boolean
}

/** With more waiting entries than this, they are joined. */
const joinThreshold = 32
/** A listener gets no more bytes at once: it may have to hold all of them. */
const listenBytes = 64 * 1024
/** Approximate size of a page from the store. */
const pageBytes = 1024 * 1024

/** Follows a thread: what is in the store page by page, and then each entry as it is delivered. */
export function followFeed(
  feed: ThreadFeed,
  { threadId, after, store, buffer, signal, caller, isClosed }: FollowFeed,
): Following {
  let cursor = after
  /**
   * Entries held by this follower alone, joined or read from the store, and the bytes counted for
   * them.
   */
  let queue: Entry[] = []
  let heldBytes = 0
  /** Its place among the deliveries, while it is live. */
  let live: Place | undefined
  const { deliveries } = feed
  let ended = isClosed || signal?.aborted === true
  let failure: unknown
  let reading: Promise<void> | undefined
  /** Pages read from the store so far. */
  let pages = 0
  let wake: (() => void) | undefined
  let listener: ((entries: readonly Entry[]) => boolean) | undefined

  const self: Follower = {
    get reached() {
      return ((live && deliveries.last(live)) ?? queue.at(-1))?.seq ?? cursor
    },
    get returned() {
      return cursor
    },
    deliver(delivery, limits) {
      if (!live) return
      if (live.isIdle) {
        const isTaken = listener !== undefined && delivery.bytes <= listenBytes
        if (isTaken && passOn(delivery.entries)) return
        // The listener may have ended this follower.
        if (live) deliveries.setBusy(live, isTaken ? delivery : undefined)
        wake?.()
        return
      }
      const { entries, bytes } = delivery
      const waiting = deliveries.count(live)
      const isFull =
        waiting + entries.length > limits.entries || deliveries.bytes(live) + bytes > limits.bytes
      if (waiting > 0 && isFull) fallBehind(live)
    },
    end(error) {
      failure = error
      stop()
    },
  }

  /** Returns false if the listener wants no more. What it throws must not reach other followers. */
  function passOn(entries: readonly Entry[]): boolean {
    cursor = (entries.at(-1) as Entry).seq
    try {
      return listener?.(entries) === true
    } catch (error) {
      self.end(error)
      return false
    }
  }

  function setHeldBytes(bytes: number) {
    if (caller === undefined || bytes === heldBytes) return
    buffer.add(bytes - heldBytes, caller)
    heldBytes = bytes
  }

  function endLive() {
    if (live) feed.endLive(self, live)
    live = undefined
  }

  /**
   * Ends live delivery; what is waiting is read from the store later. The entry being sent stays in
   * memory until then.
   */
  function fallBehind(place: Place) {
    const sending = deliveries.sending(place)
    endLive()
    if (sending > 0 && queue.length === 0) setHeldBytes(sending)
  }

  function stop() {
    ended = true
    queue = []
    setHeldBytes(0)
    endLive()
    feed.remove(self)
    signal?.removeEventListener('abort', stop)
    wake?.()
  }

  /** Waits until the buffer has room for this many bytes. */
  async function waitForRoom(bytes: number) {
    while (!ended && buffer.isFull(caller, bytes)) {
      await new Promise<void>((resolve) => {
        wake = resolve
        buffer.whenRoom(caller, bytes, resolve)
      })
      wake = undefined
    }
    // In the same turn: all waiting followers are woken together, and each must see what the others
    // have claimed.
    if (!ended) setHeldBytes(bytes)
  }

  /** Goes live if all that it has missed is still in memory. */
  function takeRecent(): boolean {
    const recent = feed.recentAfter(cursor)
    if (!recent) return false
    const bytes = recent.reduce((sum, entry) => sum + entryBytes(entry), 0)
    if (buffer.isFull(caller, bytes)) return false
    const { head } = feed
    const place = feed.goLive(self, { cursor: head, known: head })
    if (!place || place instanceof Promise) return false
    live = place
    setHeldBytes(bytes)
    queue = recent.length > joinThreshold ? joinEntries(recent) : recent
    return true
  }

  /** Reads a page, or goes live if nothing is left to read. */
  async function readPage() {
    if (takeRecent()) return
    if (caller !== undefined) {
      setHeldBytes(0)
      const page = Math.min(pageBytes, buffer.limit / 16)
      // Before reading, so that the followers that waited do not all read at once.
      if (buffer.isFull(caller, page)) await waitForRoom(page)
      else setHeldBytes(page)
      if (ended) return
    }
    // Awaits only if there is a turn to wait for: otherwise it would read entries that are
    // published in between.
    const turn = pause(pages++)
    if (turn) await turn
    if (ended) return
    const known = feed.head
    const entries = await store.read(threadId, { after: cursor, limit: pageSize })
    if (ended) return
    if (entries.length > 0) {
      queue = joinEntries(entries)
      setHeldBytes(entries.reduce((bytes, entry) => bytes + entryBytes(entry), 0))
      return
    }
    const result = feed.goLive(self, { cursor, known })
    if (result instanceof Promise) return void (await result)
    live = result
    if (live) setHeldBytes(0)
  }

  function take(): Entry | undefined {
    const entry = queue.shift() ?? takeLive()
    if (entry) cursor = entry.seq
    return entry
  }

  function takeLive(): Entry | undefined {
    if (!live) return undefined
    if (deliveries.count(live) <= joinThreshold) return deliveries.take(live)
    setHeldBytes(deliveries.bytes(live))
    queue = joinEntries(deliveries.takeAll(live))
    return queue.shift()
  }

  /** Resolves when there is something to take, or at the end. */
  async function idle(place: Place, onEntries?: typeof listener): Promise<void> {
    deliveries.setIdle(place)
    setHeldBytes(0)
    listener = onEntries
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    listener = wake = undefined
  }

  async function next(): Promise<IteratorResult<Entry, undefined>> {
    for (;;) {
      if (failure !== undefined) {
        const error = failure
        failure = undefined
        stop()
        if (isGone(error)) break
        throw error
      }
      const entry = ended ? undefined : take()
      if (entry) return { done: false, value: entry }
      if (ended) break
      if (live) await idle(live)
      else {
        reading ??= readPage().catch((error: unknown) => {
          failure = error
        })
        await reading
        reading = undefined
      }
    }
    return { done: true, value: undefined }
  }

  if (!ended) {
    feed.add(self)
    signal?.addEventListener('abort', stop)
  } else feed.remove(self)
  // One at a time, even if `next()` is called again without awaiting the last call.
  let turn: Promise<unknown> | undefined
  function takeTurn<Value>(work: Promise<Value>): Promise<Value> {
    const done = () => {
      if (turn === settled) turn = undefined
    }
    const settled: Promise<void> = work.then(done, done)
    turn = settled
    return work
  }

  return {
    next() {
      const entry = turn || ended ? undefined : take()
      if (entry) return Promise.resolve({ done: false, value: entry })
      return takeTurn(turn ? turn.then(next) : next())
    },
    ready: () => (turn || ended ? undefined : take()),
    listen(onEntries) {
      if (turn || ended || !live || queue.length > 0 || deliveries.count(live) > 0) return undefined
      return takeTurn(idle(live, onEntries))
    },
    return() {
      stop()
      return Promise.resolve({ done: true as const, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
