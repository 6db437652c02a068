import type { Entry } from '../protocol/index.ts'
import { MillraceError, toMillraceError } from '../protocol/index.ts'
import type { Budget } from './budget.ts'
import { firstOf, joinEntries } from './entries.ts'
import { entryBytes } from './entry-bytes.ts'
import type { ThreadStore } from './store.ts'
import { threadNotFound } from './store-errors.ts'
import { pause } from './turns.ts'

/**
 * Brings what is written to the followers of threads. A live follower is handed each entry as it becomes durable, the same object
 * as all others; one that is behind reads from the store at its own pace, deltas joined, and delays no other.
 */
export interface Followers {
  /** Entries of a thread that have become durable, through this process. */
  publish(threadId: string, entries: readonly Entry[]): void
  /** A thread was written to, as far as `head` if that is known: there may be something to read. */
  changed(threadId: string, head?: number): void
  /** Every entry after a number. Ends with the signal, with the thread, or when the hub is closed. What it holds counts for `caller`. */
  follow(threadId: string, after: number, options?: FollowerOptions): Following
  /** Has a fold take every entry after its head, once it has read the log to its end. Gives a function that ends it. */
  attach(threadId: string, fold: Fold): Promise<() => void>
  /** How many followers there are, and how many entries the one that is furthest behind has not been handed yet. */
  listeners(): { readonly count: number; readonly lag: number }
  /** A thread was deleted: its followers come to an end. */
  deleted(threadId: string): void
  close(): void
}

/** A thread that is being folded here. It gets each entry in the turn in which it is known, before any follower. */
interface Fold {
  /** The last number that it has taken. */
  readonly head: number
  /** What it adds itself is being written, until this resolves: what is in the log by now may not be known as its own yet. */
  readonly writing: Promise<void> | undefined
  /** Reads the log from there to its end. */
  readOn(): Promise<void>
  take(entries: readonly Entry[], bytes: number): void
  /** Nothing more comes: the thread is gone, or with an error its log cannot be read. */
  end(error?: MillraceError): void
}

interface FollowerOptions {
  readonly signal?: AbortSignal | undefined
  readonly caller?: string | undefined
}

export interface Following extends AsyncIterableIterator<Entry, undefined> {
  /** What is there already and need not be waited for; undefined if that is nothing. For writing many entries at once. */
  ready(): Entry | undefined
}

/** The followers of one thread. */
interface ThreadFeed {
  /** The last number that this process knows to be there; 0 if it knows nothing. */
  head: number
  /** Something was written that those who keep up have not been handed. */
  stale: boolean
  reading: Promise<void> | undefined
  readonly live: Set<Follower>
  readonly followers: Set<Follower>
  fold: Fold | undefined
  /** A fold is about to be attached. */
  isAwaited: boolean
  /** What some live follower has not dealt with yet: one list for all of them. An entry's place is that of the first plus its index. */
  recent: Recent[]
  first: number
  /** The bytes of all entries that were ever delivered, and of those in `recent`. */
  delivered: number
  held: number
  /** How many live followers are not waiting for the next entry. */
  busy: number
}

interface Recent {
  readonly entry: Entry
  readonly bytes: number
}

interface Follower {
  /** The last number that it has got hold of. */
  readonly reached: number
  /** The last number that it has handed out. */
  readonly handed: number
  /** The place of the first recent entry that it still needs, be it only to send it. */
  readonly needs: number
  /** So much is about to be delivered. One that would have more than `most` bytes waiting is live no more. */
  expect(count: number, bytes: number, most: number): void
  /** There is something to read, or nothing ever again. */
  wake(error?: unknown): void
}

/** So many entries, and bytes, may wait for a live follower before it counts as behind. One delivery may be larger. */
const mostEntries = 512
const mostBytes = 1024 * 1024
/** The same while the process holds too much. */
const fewBytes = 64 * 1024
/** From here on those that wait are handed out joined. */
const worthJoining = 32
const pageSize = 512
const op = 'thread.follow'

export function threadFollowers(store: ThreadStore, buffer: Budget): Followers {
  const tails = new Map<string, ThreadFeed>()
  /** Changes that were told in this turn. */
  const news = new Map<string, number>()
  let closed = false

  function deliver(tail: ThreadFeed, entries: readonly Entry[]) {
    tail.head = (entries.at(-1) as Entry).seq
    const recent = entries.map((entry) => ({ entry, bytes: entryBytes(entry) }))
    let bytes = 0
    for (const one of recent) bytes += one.bytes
    tail.fold?.take(entries, bytes)
    const most = buffer.isFull() ? fewBytes : mostBytes
    for (const follower of tail.live) follower.expect(entries.length, bytes, most)
    if (tail.live.size === 0) return
    for (const one of recent) tail.recent.push(one)
    tail.delivered += bytes
    tail.held += bytes
    buffer.add(bytes)
    if (tail.recent.length > 2 * mostEntries || tail.held > 2 * most) trim(tail)
  }

  function tailOf(threadId: string): ThreadFeed {
    const known = tails.get(threadId)
    if (known) return known
    const tail: ThreadFeed = {
      head: 0,
      stale: false,
      reading: undefined,
      live: new Set(),
      followers: new Set(),
      fold: undefined,
      isAwaited: false,
      recent: [],
      first: 0,
      delivered: 0,
      held: 0,
      busy: 0,
    }
    tails.set(threadId, tail)
    return tail
  }

  function dropUnused(threadId: string, tail: ThreadFeed) {
    if (tail.followers.size > 0 || tail.fold || tail.isAwaited) return
    if (tails.get(threadId) === tail) tails.delete(threadId)
  }

  /** Forgets what every live follower has dealt with. */
  function trim(tail: ThreadFeed) {
    let needed = tail.first + tail.recent.length
    if (tail.busy > 0) for (const { needs } of tail.live) needed = Math.min(needed, needs)
    let bytes = 0
    for (const gone of tail.recent.splice(0, needed - tail.first)) bytes += gone.bytes
    tail.first = needed
    tail.held -= bytes
    buffer.add(-bytes)
  }

  /** Reads what those who keep up have not been handed, once however many ask for it. */
  function catchUp(threadId: string, tail: ThreadFeed) {
    tail.stale = true
    if (tail.reading || !hasLive(tail)) return
    tail.reading = readTail(threadId, tail)
  }

  async function readTail(threadId: string, tail: ThreadFeed) {
    try {
      while (tail.stale && hasLive(tail)) {
        tail.stale = false
        await pause(0)
        const after = tail.head
        const entries = await store.read(threadId, { after, limit: pageSize })
        await tail.fold?.writing
        // Meanwhile some may have been published.
        if (tail.head !== after) tail.stale = true
        else if (entries.length > 0) {
          deliver(tail, entries)
          tail.stale = true
        }
      }
    } catch (error) {
      endAll(tail, error)
    } finally {
      tail.reading = undefined
    }
  }

  /** Of our own writes we hear as well, and by now they are published. */
  function readNews() {
    for (const [threadId, head] of news) {
      const tail = tails.get(threadId)
      if (!tail || tail.head >= head) continue
      if (Number.isFinite(head)) catchUp(threadId, tail)
      else void lookAnew(threadId, tail)
    }
    news.clear()
  }

  /** More than growth was told of: it may be gone, or another of the same id, whose log is shorter. */
  async function lookAnew(threadId: string, tail: ThreadFeed) {
    // As known before it is asked: meanwhile it may have grown.
    const known = tail.head
    const info = await store.get(threadId).catch(() => undefined)
    if (info && info.head < known && tail.head >= known) outlive(threadId, tail, info.head)
    else catchUp(threadId, tail)
  }

  /** Ends those that have read further than the log goes: they read the thread before. Others may have begun since. */
  function outlive(threadId: string, tail: ThreadFeed, head: number) {
    endAll(tail, threadNotFound(op, threadId), ({ reached }) => reached > head)
    tail.head = head
  }

  function endAll(tail: ThreadFeed, error: unknown, isMeant: (follower: Follower) => boolean = () => true) {
    for (const follower of [...tail.followers]) if (isMeant(follower)) follower.wake(error)
    tail.fold?.end(isGone(error) ? undefined : toMillraceError(error, { op, code: 'store_error' }))
  }

  function end(threadId: string) {
    const tail = tails.get(threadId)
    if (tail) endAll(tail, threadNotFound(op, threadId))
  }

  /**
   * For one that has read up to `cursor` and found nothing more, when the head was `known` before that. True if it is abreast of the
   * others, and gets what comes from now on; else it reads again, when the promise resolves if there is one.
   */
  function isAbreast(
    threadId: string,
    tail: ThreadFeed,
    { cursor, known, self }: { readonly cursor: number; readonly known: number; readonly self?: Follower },
  ): boolean | Promise<unknown> {
    if (known > cursor) {
      // The log is shorter than it was: this is another thread, made under the id of one that is gone.
      endAll(tail, threadNotFound(op, threadId), (follower) => follower !== self)
      tail.head = cursor
    }
    if (tail.head > cursor) return false
    if (tail.head < cursor && hasLive(tail)) {
      // Read here before it was known: those who keep up are handed it first, or they never would be.
      catchUp(threadId, tail)
      return tail.reading ?? false
    }
    tail.head = cursor
    return true
  }

  async function attach(threadId: string, fold: Fold): Promise<() => void> {
    const tail = tailOf(threadId)
    const detach = () => {
      tail.isAwaited = false
      if (tail.fold === fold) tail.fold = undefined
      dropUnused(threadId, tail)
    }
    tail.isAwaited = true
    try {
      for (let isReady: boolean | Promise<unknown> = false; isReady !== true; ) {
        await isReady
        const known = tail.head
        await fold.readOn()
        isReady = isAbreast(threadId, tail, { cursor: fold.head, known })
      }
    } catch (error) {
      detach()
      throw error
    }
    tail.fold = fold
    tail.isAwaited = false
    if (tail.stale) catchUp(threadId, tail)
    return detach
  }

  function follow(threadId: string, after: number, { signal, caller }: FollowerOptions = {}): Following {
    const tail = tailOf(threadId)
    let cursor = after
    /** Its own, joined or read from the store, and the bytes that count for it. */
    let queue: Entry[] = []
    let kept = 0
    let isLive = false
    let isWaiting = false
    /** Its place among what is delivered: the first entry that was not handed out, and the bytes before it. */
    let place = 0
    let bytesBefore = 0
    let over = closed || signal?.aborted === true
    let failure: unknown
    let reading: Promise<void> | undefined
    /** How many pages it has read from the store. */
    let pages = 0
    let asked: (() => void) | undefined

    const self: Follower = {
      get reached() {
        const last = isLive && place < endOf(tail) ? tail.recent.at(-1)?.entry : queue.at(-1)
        return last?.seq ?? cursor
      },
      get handed() {
        return cursor
      },
      get needs() {
        // What was handed out last is being sent until the next is asked for.
        return isWaiting ? place : Math.max(tail.first, place - 1)
      },
      expect(count, bytes, most) {
        const [waiting, waitingBytes] = [endOf(tail) - place, tail.delivered - bytesBefore]
        if (waiting > 0 && (waiting + count > mostEntries || waitingBytes + bytes > most)) return fallBehind()
        if (!isWaiting) return
        isWaiting = false
        tail.busy++
        asked?.()
      },
      wake(error) {
        failure = error
        leave()
      },
    }

    function keep(bytes: number) {
      if (caller === undefined || bytes === kept) return
      buffer.add(bytes - kept, caller)
      kept = bytes
    }

    function goLive() {
      isLive = true
      place = endOf(tail)
      bytesBefore = tail.delivered
      tail.live.add(self)
      tail.busy++
      keep(0)
    }

    function endLive() {
      if (!isLive) return
      isLive = false
      tail.live.delete(self)
      if (!isWaiting) rest()
      isWaiting = false
    }

    /** Reads what waits for it from the store when it comes to it; what it is sending stays in memory until then. */
    function fallBehind() {
      const sending = tail.recent[place - 1 - tail.first]
      endLive()
      if (sending && queue.length === 0) keep(sending.bytes)
    }

    /** One more that needs nothing of what was delivered. */
    function rest() {
      tail.busy--
      if (tail.busy === 0 && tail.held > 0) trim(tail)
    }

    function leave() {
      over = true
      queue = []
      keep(0)
      endLive()
      tail.followers.delete(self)
      dropUnused(threadId, tail)
      signal?.removeEventListener('abort', leave)
      asked?.()
    }

    /** Waits until it may hold so many bytes more. */
    async function room(bytes: number) {
      while (!over && buffer.isFull(caller, bytes)) {
        await new Promise<void>((resolve) => {
          asked = resolve
          buffer.whenRoom(caller, bytes, resolve)
        })
        asked = undefined
      }
      // In the same turn: all that waited are woken at once, and each must see what the others have taken.
      if (!over) keep(bytes)
    }

    /** Reads a page, or goes live if nothing is left to read. */
    async function readOn() {
      if (caller !== undefined) {
        keep(0)
        const page = Math.min(mostBytes, buffer.limit / 16)
        // Before it is read, so that not all of those that waited read at once.
        if (buffer.isFull(caller, page)) await room(page)
        else keep(page)
        if (over) return
      }
      // Not where it need not wait: what is published meanwhile would be read as well.
      const turn = pause(pages++)
      if (turn) await turn
      if (over) return
      const known = tail.head
      const entries = await store.read(threadId, { after: cursor, limit: pageSize })
      if (over) return
      if (entries.length > 0) {
        queue = joinEntries(entries)
        keep(entries.reduce((bytes, entry) => bytes + entryBytes(entry), 0))
        return
      }
      const isReady = isAbreast(threadId, tail, { cursor, known, self })
      if (isReady !== true) return void (await isReady)
      goLive()
      if (tail.stale) catchUp(threadId, tail)
    }

    function take(): Entry | undefined {
      const entry = queue.shift() ?? (isLive ? takeRecent() : undefined)
      if (entry) cursor = entry.seq
      return entry
    }

    function takeRecent(): Entry | undefined {
      const index = place - tail.first
      if (tail.recent.length - index > worthJoining) {
        queue = joinEntries(tail.recent.slice(index).map(({ entry }) => entry))
        keep(tail.delivered - bytesBefore)
        place = endOf(tail)
        bytesBefore = tail.delivered
        return queue.shift()
      }
      const next = tail.recent[index]
      if (!next) return undefined
      place++
      bytesBefore += next.bytes
      return next.entry
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
        if (isLive) {
          isWaiting = true
          keep(0)
          rest()
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
      tail.followers.add(self)
      signal?.addEventListener('abort', leave)
    } else dropUnused(threadId, tail)
    // One at a time, also when somebody asks again without waiting.
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

  return {
    publish(threadId, entries) {
      const tail = tails.get(threadId)
      const [first] = entries
      if (!tail || !first) return
      if (!hasLive(tail)) {
        tail.head = Math.max(tail.head, (entries.at(-1) as Entry).seq)
        return
      }
      if (firstOf(first) === tail.head + 1) deliver(tail, entries)
      else if ((entries.at(-1) as Entry).seq > tail.head) catchUp(threadId, tail)
    },
    changed(threadId, head = Number.POSITIVE_INFINITY) {
      if (!tails.has(threadId)) return
      if (news.size === 0) setTimeout(readNews)
      news.set(threadId, Math.max(head, news.get(threadId) ?? 0))
    },
    follow,
    attach,
    listeners() {
      let count = 0
      let lag = 0
      for (const { head, followers } of tails.values())
        for (const { handed, reached } of followers) {
          count++
          // How far the log goes may be known to nobody yet: then at least what it has read and not handed out.
          lag = Math.max(lag, Math.max(head, reached) - handed)
        }
      return { count, lag }
    },
    deleted: end,
    close() {
      closed = true
      for (const tail of tails.values()) for (const follower of [...tail.followers]) follower.wake()
    },
  }
}

/** Someone gets each entry as it becomes durable. */
function hasLive({ live, fold }: ThreadFeed): boolean {
  return live.size > 0 || fold !== undefined
}

/** The place of what is delivered next. */
function endOf({ first, recent }: ThreadFeed): number {
  return first + recent.length
}

/** A thread that was deleted ends for those who follow it. */
function isGone(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'not_found'
}
