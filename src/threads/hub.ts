import type { Entry } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import { firstOf, joinEntries } from './entries.ts'
import type { ThreadStore } from './store.ts'
import { threadNotFound } from './store-errors.ts'

/**
 * Brings what is written to whoever follows. One that keeps up is handed each entry as it becomes durable, the same object as
 * all others; one that is behind reads from the store at its own pace, deltas joined, and holds up nobody.
 */
export interface Hub {
  /** Entries of a thread that have become durable, through this process. */
  publish(threadId: string, entries: readonly Entry[]): void
  /** Somebody wrote to a thread, as far as `head` if that is known: there may be something to read. */
  changed(threadId: string, head?: number): void
  /** Every entry after a number. Ends with the signal, with the thread, or when the hub is closed. */
  follow(threadId: string, after: number, signal?: AbortSignal): Following
  /** The same for whoever works on the thread, and is no listener. */
  track(threadId: string, after: number): Following
  /** How many listeners there are, and how many entries the one that is furthest behind has not been handed yet. */
  listeners(): { readonly count: number; readonly lag: number }
  /** A thread was deleted: whoever follows it comes to an end. */
  deleted(threadId: string): void
  close(): void
}

export interface Following extends AsyncIterableIterator<Entry, undefined> {
  /** What is there already and need not be waited for; undefined if that is nothing. For writing many entries at once. */
  ready(): Entry | undefined
}

/** The followers of one thread. */
interface Tail {
  /** The last number that this process knows to be there; 0 if it knows nothing. */
  head: number
  /** Something was written that those who keep up have not been handed. */
  stale: boolean
  reading: Promise<void> | undefined
  readonly abreast: Set<Follower>
  readonly followers: Set<Follower>
}

interface Follower {
  /** The last number that it has got hold of. */
  readonly reached: number
  /** The last number that it has handed out. */
  readonly handed: number
  readonly isListener: boolean
  hear(entries: readonly Entry[]): void
  /** There is something to read, or nothing ever again. */
  wake(error?: unknown): void
}

/** So many entries may wait for one that keeps up before it counts as behind. */
const farBehind = 512
/** From here on those that wait are handed out joined. */
const worthJoining = 32
const pageSize = 512
const op = 'thread.follow'

export function hub(store: ThreadStore): Hub {
  const tails = new Map<string, Tail>()
  /** Changes that were told in this turn. */
  const news = new Map<string, number>()
  let closed = false

  function deliver(tail: Tail, entries: readonly Entry[]) {
    tail.head = (entries.at(-1) as Entry).seq
    for (const follower of tail.abreast) follower.hear(entries)
  }

  /** Reads what those who keep up have not been handed, once however many ask for it. */
  function catchUp(threadId: string, tail: Tail) {
    tail.stale = true
    if (tail.reading || tail.abreast.size === 0) return
    tail.reading = readTail(threadId, tail)
  }

  async function readTail(threadId: string, tail: Tail) {
    try {
      while (tail.stale && tail.abreast.size > 0) {
        tail.stale = false
        const after = tail.head
        const entries = await store.read(threadId, { after, limit: pageSize })
        // Meanwhile some may have been published.
        if (tail.head !== after) tail.stale = true
        else if (entries.length > 0) {
          deliver(tail, entries)
          tail.stale = true
        }
      }
    } catch (error) {
      for (const follower of [...tail.followers]) follower.wake(error)
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
  async function lookAnew(threadId: string, tail: Tail) {
    // As known before it is asked: meanwhile it may have grown.
    const known = tail.head
    const info = await store.get(threadId).catch(() => undefined)
    if (info && info.head < known && tail.head >= known) outlive(threadId, tail, info.head)
    else catchUp(threadId, tail)
  }

  /** Who has read on further than the log goes read the one before. Who has not may have begun since. */
  function outlive(threadId: string, tail: Tail, head: number) {
    const error = threadNotFound(op, threadId)
    for (const follower of [...tail.followers]) if (follower.reached > head) follower.wake(error)
    tail.head = head
  }

  function end(threadId: string) {
    const error = threadNotFound(op, threadId)
    for (const follower of [...(tails.get(threadId)?.followers ?? [])]) follower.wake(error)
  }

  function follow(
    threadId: string,
    after: number,
    signal?: AbortSignal,
    { isListener = true } = {},
  ): Following {
    const tail = tails.get(threadId) ?? {
      head: 0,
      stale: false,
      reading: undefined,
      abreast: new Set<Follower>(),
      followers: new Set<Follower>(),
    }
    let cursor = after
    let queue: Entry[] = []
    let over = closed || signal?.aborted === true
    let failure: unknown
    let reading: Promise<void> | undefined
    let asked: (() => void) | undefined

    const self: Follower = {
      get reached() {
        return queue.at(-1)?.seq ?? cursor
      },
      get handed() {
        return cursor
      },
      isListener,
      hear(entries) {
        for (const entry of entries) if (entry.seq > cursor) queue.push(entry)
        if (queue.length > farBehind) {
          // It reads them from the store when it comes to it.
          queue = []
          tail.abreast.delete(self)
        }
        asked?.()
      },
      wake(error) {
        failure = error
        leave()
      },
    }
    const leave = () => {
      over = true
      queue = []
      tail.abreast.delete(self)
      tail.followers.delete(self)
      if (tail.followers.size === 0 && tails.get(threadId) === tail) tails.delete(threadId)
      signal?.removeEventListener('abort', leave)
      asked?.()
    }

    /** Reads a page, or joins those who keep up if there is none. */
    async function readOn() {
      const known = tail.head
      const entries = await store.read(threadId, { after: cursor, limit: pageSize })
      if (over) return
      if (entries.length > 0) {
        queue = joinEntries(entries)
        return
      }
      if (known > cursor) {
        // The log is shorter than it was: this is another thread, made under the id of one that is gone.
        for (const follower of [...tail.followers])
          if (follower !== self) follower.wake(threadNotFound(op, threadId))
        tail.head = cursor
      }
      if (tail.head > cursor) return
      if (tail.head < cursor && tail.abreast.size > 0) {
        // Read here before anybody told of it: those who keep up are handed it first, or they never would be.
        catchUp(threadId, tail)
        await tail.reading
        return
      }
      tail.head = cursor
      tail.abreast.add(self)
      if (tail.stale) catchUp(threadId, tail)
    }

    function take(): Entry | undefined {
      if (queue.length > worthJoining) queue = joinEntries(queue)
      const entry = queue.shift()
      if (entry) cursor = entry.seq
      return entry
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
        if (tail.abreast.has(self)) {
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
      tails.set(threadId, tail)
      tail.followers.add(self)
      signal?.addEventListener('abort', leave)
    }
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
      if (tail.abreast.size === 0) {
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
    track: (threadId, after) => follow(threadId, after, undefined, { isListener: false }),
    listeners() {
      let count = 0
      let lag = 0
      for (const { head, followers } of tails.values())
        for (const { isListener, handed, reached } of followers) {
          if (!isListener) continue
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

/** A thread that was deleted ends for those who follow it. */
function isGone(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'not_found'
}
