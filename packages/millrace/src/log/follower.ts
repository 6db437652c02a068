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
  /** The next entry, if it is there already. For writing many entries at once. */
  ready(): Entry | undefined
}

interface FollowFeed extends FollowerOptions {
  readonly threadId: string
  readonly after: number
  readonly store: ThreadStore
  readonly buffer: Budget
  /** Nothing can be followed any more. */
  readonly isClosed: boolean
}

/** From this many on, waiting entries are joined. */
const worthJoining = 32
/** About what a page from the store takes. */
const pageBytes = 1024 * 1024

/** Follows a thread: what is in the store page by page, and then each entry as it is delivered. */
export function followFeed(
  feed: ThreadFeed,
  { threadId, after, store, buffer, signal, caller, isClosed }: FollowFeed,
): Following {
  let cursor = after
  /** Entries of its own, joined or read from the store, and how many bytes count for it. */
  let queue: Entry[] = []
  let kept = 0
  /** Its place among the deliveries, while it is live. */
  let live: Place | undefined
  const { deliveries } = feed
  let over = isClosed || signal?.aborted === true
  let failure: unknown
  let reading: Promise<void> | undefined
  /** How many pages it has read from the store. */
  let pages = 0
  let asked: (() => void) | undefined

  const self: Follower = {
    get reached() {
      return ((live && deliveries.last(live)) ?? queue.at(-1))?.seq ?? cursor
    },
    get handed() {
      return cursor
    },
    expect(count, bytes, limits) {
      if (!live) return
      const waiting = deliveries.count(live)
      const isFull = waiting + count > limits.entries || deliveries.bytes(live) + bytes > limits.bytes
      if (waiting > 0 && isFull) return fallBehind(live)
      if (!live.isIdle) return
      deliveries.setIdle(live, false)
      asked?.()
    },
    end(error) {
      failure = error
      leave()
    },
  }

  function keep(bytes: number) {
    if (caller === undefined || bytes === kept) return
    buffer.add(bytes - kept, caller)
    kept = bytes
  }

  function endLive() {
    if (live) feed.endLive(self, live)
    live = undefined
  }

  /** Reads what is waiting from the store later. The entry that it is sending stays in memory until then. */
  function fallBehind(place: Place) {
    const sending = deliveries.sending(place)
    endLive()
    if (sending > 0 && queue.length === 0) keep(sending)
  }

  function leave() {
    over = true
    queue = []
    keep(0)
    endLive()
    feed.remove(self)
    signal?.removeEventListener('abort', leave)
    asked?.()
  }

  /** Waits until the buffer has room for this many bytes. */
  async function room(bytes: number) {
    while (!over && buffer.isFull(caller, bytes)) {
      await new Promise<void>((resolve) => {
        asked = resolve
        buffer.whenRoom(caller, bytes, resolve)
      })
      asked = undefined
    }
    // In the same turn: all waiting followers are woken at once, and each must see what the others have taken.
    if (!over) keep(bytes)
  }

  /** Reads a page, or goes live if nothing is left to read. */
  async function readOn() {
    if (caller !== undefined) {
      keep(0)
      const page = Math.min(pageBytes, buffer.limit / 16)
      // Before reading, so that the followers that waited do not all read at once.
      if (buffer.isFull(caller, page)) await room(page)
      else keep(page)
      if (over) return
    }
    // No turn where none is needed: it would read what is published meanwhile.
    const turn = pause(pages++)
    if (turn) await turn
    if (over) return
    const known = feed.head
    const entries = await store.read(threadId, { after: cursor, limit: pageSize })
    if (over) return
    if (entries.length > 0) {
      queue = joinEntries(entries)
      keep(entries.reduce((bytes, entry) => bytes + entryBytes(entry), 0))
      return
    }
    const result = feed.goLive(self, { cursor, known })
    if (result instanceof Promise) return void (await result)
    live = result
    if (live) keep(0)
  }

  function take(): Entry | undefined {
    const entry = queue.shift() ?? takeLive()
    if (entry) cursor = entry.seq
    return entry
  }

  function takeLive(): Entry | undefined {
    if (!live) return undefined
    if (deliveries.count(live) <= worthJoining) return deliveries.take(live)
    keep(deliveries.bytes(live))
    queue = joinEntries(deliveries.takeAll(live))
    return queue.shift()
  }

  async function next(): Promise<IteratorResult<Entry, undefined>> {
    for (;;) {
      if (failure !== undefined) {
        const error = failure
        failure = undefined
        leave()
        if (isGone(error)) break
        throw error
      }
      const entry = over ? undefined : take()
      if (entry) return { done: false, value: entry }
      if (over) break
      if (live) {
        deliveries.setIdle(live, true)
        keep(0)
        await new Promise<void>((resolve) => {
          asked = resolve
        })
        asked = undefined
      } else {
        reading ??= readOn().catch((error: unknown) => {
          failure = error
        })
        await reading
        reading = undefined
      }
    }
    return { done: true, value: undefined }
  }

  if (!over) {
    feed.add(self)
    signal?.addEventListener('abort', leave)
  } else feed.remove(self)
  // One at a time, also if `next()` is called again without waiting.
  let turn: Promise<unknown> | undefined
  return {
    next() {
      const entry = turn || over ? undefined : take()
      if (entry) return Promise.resolve({ done: false, value: entry })
      const result = turn ? turn.then(next) : next()
      const done = () => {
        if (turn === settled) turn = undefined
      }
      const settled: Promise<void> = result.then(done, done)
      turn = settled
      return result
    },
    ready: () => (turn || over ? undefined : take()),
    return() {
      leave()
      return Promise.resolve({ done: true as const, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
