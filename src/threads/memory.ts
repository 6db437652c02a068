import type { Entry, OptionTable, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { aFunction, checkOptions } from '../protocol/index.ts'
import type { PackedEntry } from './entries.ts'
import { logProblem, packEntries, readEntries } from './entries.ts'
import { searchText, searchWords } from './search.ts'
import type { Lease, ThreadStore } from './store.ts'
import { badLog, placeOfCursor, storeClosed, threadNotFound } from './store-errors.ts'
import { titleOf } from './title.ts'
import { watchers } from './watchers.ts'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970. For tests that own the time. */
  readonly now?: (() => number) | undefined
}

/** A thread as it is kept. `info` is as it was when the thread was made; what changes stands beside it. */
interface Kept {
  readonly info: Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom' | 'createdAt'>
  title: string | undefined
  /** What a search looks through. */
  text: string
  entries: PackedEntry[]
  updatedAt: number
  head: number
  /** Its place in the order of changes. */
  place: number
  /** What it is while there is nothing to do. */
  resting: 'idle' | 'waiting'
  /** From when on it can be claimed: since it became runnable, or its owner's lease runs out. Undefined if there is nothing to do. */
  due: number | undefined
  owner: string | undefined
  epoch: number
  /** Owners in a row that did not give it back. */
  losses: number
  readonly keys: Map<string, number>
}

const optionTable: OptionTable<MemoryStoreOptions> = { now: aFunction }

/** Keeps threads as long as the process lives. Several apps of the process may share it. */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  checkOptions(options, optionTable, { op: 'memoryStore', what: 'the option of memoryStore()' })
  const { now = Date.now } = options
  const threads = new Map<string, Kept>()
  const watching = watchers()
  let places = 0
  // Of all threads, so that a lease never fits a thread that was made anew under the same id.
  let epochs = 0
  let closed = false

  /** Everything happens at once, in the turn of the call, and is told as a promise. */
  function answer<Value>(op: string, what: () => Value): Promise<Value> {
    return new Promise((resolve) => {
      if (closed) throw storeClosed(op)
      resolve(what())
    })
  }

  function find(op: string, threadId: string): Kept {
    const thread = threads.get(threadId)
    if (!thread) throw threadNotFound(op, threadId)
    return thread
  }

  /** The thread that a lease gives the right to write to; undefined if it does not any more. */
  function ownedBy({ threadId, owner, epoch }: Lease): Kept | undefined {
    const thread = threads.get(threadId)
    return thread && thread.owner === owner && thread.epoch === epoch ? thread : undefined
  }

  function write(thread: Kept, event: ThreadEvent): Entry {
    const entry: Entry = { seq: ++thread.head, at: now(), event }
    thread.entries.push(entry)
    name(thread, [entry])
    thread.updatedAt = entry.at
    thread.place = ++places
    return entry
  }

  /** Gives it a title, if it has none and these are the entries that do. */
  function name(thread: Kept, entries: readonly Entry[]) {
    const title = thread.title ?? titleOf(entries)
    if (title === thread.title) return
    thread.title = title
    thread.text = searchText({ ...thread.info, title })
  }

  /** There is something to do and nobody does it. */
  function isStranded({ due, owner }: Kept): boolean {
    return due !== undefined && (owner === undefined || due <= now())
  }

  function infoOf(thread: Kept): ThreadInfo {
    const { info, title, updatedAt, head, resting, due } = thread
    const status = due === undefined ? resting : isStranded(thread) ? 'queued' : 'running'
    return { ...info, ...(title !== undefined && { title }), updatedAt, head, status }
  }

  return {
    create: (thread, entries = []) =>
      answer('store.create', () => {
        const { id, agent, user, metadata, forkedFrom } = thread
        const problem = logProblem(entries)
        if (problem) throw badLog('store.create', problem)
        if (threads.has(id)) return false
        const createdAt = now()
        const last = entries.at(-1)
        const kept: Kept = {
          info: {
            id,
            agent,
            ...(user !== undefined && { user }),
            ...(metadata && { metadata }),
            ...(forkedFrom && { forkedFrom }),
            createdAt,
          },
          title: undefined,
          text: searchText({ id, agent, metadata }),
          entries: [...entries],
          updatedAt: last?.at ?? createdAt,
          head: last?.seq ?? 0,
          place: ++places,
          resting: 'idle',
          due: last && createdAt,
          owner: undefined,
          epoch: 0,
          losses: 0,
          keys: new Map(),
        }
        name(kept, entries)
        threads.set(id, kept)
        watching.tell([id])
        return true
      }),

    get: (threadId) =>
      answer('store.get', () => {
        const thread = threads.get(threadId)
        return thread && infoOf(thread)
      }),

    list: ({ limit, cursor, user, agent, status, search }) =>
      answer('store.list', () => {
        const below = placeOfCursor('store.list', cursor)
        const words = search === undefined ? [] : searchWords(search)
        const found = [...threads.values()]
          .filter((thread) => thread.place < below)
          .filter(({ info }) => (user ?? info.user) === info.user && (agent ?? info.agent) === info.agent)
          .filter((thread) => status === undefined || infoOf(thread).status === status)
          .filter(({ text }) => words.every((word) => text.includes(word)))
          .sort((one, other) => other.place - one.place)
        const page = found.slice(0, limit)
        const last = page.at(-1)
        return {
          threads: page.map(infoOf),
          ...(last && found.length > limit && { next: String(last.place) }),
        }
      }),

    delete: (threadId) =>
      answer('store.delete', () => {
        const existed = threads.delete(threadId)
        if (existed) watching.tell([threadId])
        return existed
      }),

    append: (batches) =>
      answer('store.append', () =>
        batches.map(({ lease, events }) => {
          const thread = ownedBy(lease)
          if (!thread) return 'fenced'
          const entries = events.map((event) => write(thread, event))
          if (entries.length > 0) watching.tell([lease.threadId], thread.head)
          return entries
        }),
      ),

    signal: (threadId, key, event) =>
      answer('store.signal', () => {
        const thread = find('store.signal', threadId)
        const first = key === undefined ? undefined : thread.keys.get(key)
        if (first !== undefined) return { entry: entryAt(thread, first), repeated: true }
        const entry = write(thread, event)
        if (key !== undefined) thread.keys.set(key, entry.seq)
        thread.due ??= entry.at
        watching.tell([threadId], entry.seq)
        return { entry, repeated: false }
      }),

    read: (threadId, options) =>
      answer('store.read', () => {
        const { entries } = find('store.read', threadId)
        return readEntries(itemsFrom(entries, indexAfter(entries, options.after)), options)
      }),

    claim: (threadId, owner, leaseMs) =>
      answer('store.claim', () => {
        const thread = threads.get(threadId)
        if (!thread || !isStranded(thread)) return undefined
        thread.losses = thread.owner === undefined ? 0 : thread.losses + 1
        thread.owner = owner
        thread.epoch = ++epochs
        thread.due = now() + leaseMs
        return { lease: { threadId, owner, epoch: thread.epoch }, losses: thread.losses }
      }),

    renew: (leases, leaseMs) =>
      answer('store.renew', () =>
        leases.filter((lease) => {
          const thread = ownedBy(lease)
          if (thread) thread.due = now() + leaseMs
          return !thread
        }),
      ),

    release: (lease, { head, status }) =>
      answer('store.release', () => {
        const thread = ownedBy(lease)
        if (!thread) return 'fenced'
        if (thread.head !== head) return 'moved'
        thread.owner = undefined
        if (status === 'runnable') {
          thread.due = now()
          watching.tell([lease.threadId])
        } else {
          thread.due = undefined
          thread.resting = status
        }
        return 'released'
      }),

    stranded: (limit, agents) =>
      answer('store.stranded', () =>
        [...threads.values()]
          .filter((thread) => isStranded(thread) && agents.includes(thread.info.agent))
          .sort((one, other) => (one.due ?? 0) - (other.due ?? 0))
          .slice(0, limit)
          .map(({ info }) => info.id),
      ),

    compact: (threadId, upTo) =>
      answer('store.compact', () => {
        const thread = find('store.compact', threadId)
        const end = indexAfter(thread.entries, upTo)
        thread.entries = [...packEntries(thread.entries.slice(0, end)), ...thread.entries.slice(end)]
      }),

    watch(listener) {
      return watching.add(listener)
    },

    async close() {
      closed = true
      watching.clear()
      threads.clear()
    },
  }
}

/** Where the first entry stands that reaches beyond a number. */
function indexAfter(entries: readonly Entry[], seq: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle] as Entry).seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}

/** A large log is not copied for a page of it. */
function* itemsFrom<Item>(items: readonly Item[], start: number): Generator<Item> {
  for (let index = start; index < items.length; index++) yield items[index] as Item
}

function entryAt({ entries }: Kept, seq: number): Entry {
  const [entry] = readEntries([entries[indexAfter(entries, seq - 1)] as PackedEntry], {
    after: seq - 1,
    limit: 1,
    split: true,
  })
  return entry as Entry
}
