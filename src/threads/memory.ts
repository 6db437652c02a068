import type { Entry, OptionTable, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { aFunction, checkOptions } from '../protocol/index.ts'
import { addToCopy, emptyCopy, endOfCopy } from './copied-log.ts'
import type { PackedEntry } from './entries.ts'
import { entriesBetween, firstOf, logProblem, packEntries, readEntries } from './entries.ts'
import { isExpired } from './lease.ts'
import { searchText, searchWords } from './search.ts'
import type { CallerUsage, Lease, NewThread, Quotas, ThreadStore } from './store.ts'
import { badFork, badLog, placeOfCursor, storeClosed, threadNotFound } from './store-errors.ts'
import { titleOf } from './title.ts'
import {
  byteLength,
  bytesOfThread,
  checkQuotas,
  heardBy,
  inputQuotas,
  isWaitingInput,
  minuteOf,
  sumOf,
  tokensOf,
  waitingIn,
} from './usage.ts'
import { watchers } from './watchers.ts'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970. For tests that own the time. */
  readonly now?: (() => number) | undefined
}

/** An entry with the length of its text. */
interface KeptEntry extends PackedEntry {
  readonly bytes: number
}

/** A thread as it is kept. `info` is as it was when the thread was made; what changes stands beside it. */
interface Kept {
  readonly info: Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom' | 'createdAt'>
  readonly metadataChars: number
  title: string | undefined
  /** What a search looks through. */
  text: string
  entries: KeptEntry[]
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
  /** How long the lease was given for. */
  leaseMs: number
  /** Owners in a row that did not give it back. */
  losses: number
  /** Who it counts for, what it counts as, and how many messages wait in it. */
  readonly caller: Caller | undefined
  bytes: number
  queued: number
  readonly keys: Map<string, number>
  readonly parts: Map<string, string>
  snapshot: { readonly seq: number; readonly state: string } | undefined
}

/** What a caller holds. */
interface Caller {
  readonly name: string
  readonly threads: Set<Kept>
  bytes: number
  waiting: number
  minute: number
  minuteBytes: number
  minuteTokens: number
}

/** A page ends after so much text, however few entries or threads that is. */
const pageBytes = 256 * 1024

/** A search looks at so many threads before other work has its turn. */
const sliceLength = 5000

const optionTable: OptionTable<MemoryStoreOptions> = { now: aFunction }

/** Keeps threads as long as the process lives. Several apps of the process may share it. */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  checkOptions(options, optionTable, { op: 'memoryStore', what: 'the option of memoryStore()' })
  const { now = Date.now } = options
  const threads = new Map<string, Kept>()
  /** The same in the order of their places. */
  const order = new Set<Kept>()
  const callers = new Map<string, Caller>()
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

  function write(thread: Kept, event: ThreadEvent, change: { waiting: number; tokens?: number }): Entry {
    const entry: Entry = { seq: ++thread.head, at: now(), event }
    const bytes = bytesOf(entry)
    thread.entries.push({ ...entry, bytes })
    count(thread, { bytes, ...change })
    name(thread, [entry])
    thread.updatedAt = entry.at
    thread.place = ++places
    order.delete(thread)
    order.add(thread)
    return entry
  }

  /** Gives it a title, if it has none and these are the entries that do. */
  function name(thread: Kept, entries: readonly Entry[]) {
    const title = thread.title ?? titleOf(entries)
    if (title === thread.title) return
    thread.title = title
    thread.text = searchText({ ...thread.info, title })
  }

  /** What a thread holds changes, and with it what its caller does. Bytes that are added are written in this minute. */
  function count(thread: Kept, change: { bytes: number; waiting: number; tokens?: number }) {
    const { bytes, tokens = 0 } = change
    const waiting = Math.max(change.waiting, -thread.queued)
    thread.bytes += bytes
    thread.queued += waiting
    const { caller } = thread
    if (!caller) return
    const minute = minuteOf(now())
    if (caller.minute !== minute) Object.assign(caller, { minute, minuteBytes: 0, minuteTokens: 0 })
    caller.bytes += bytes
    caller.waiting += waiting
    caller.minuteBytes += Math.max(0, bytes)
    caller.minuteTokens += tokens
  }

  function usageOf(name: string): CallerUsage {
    const caller = callers.get(name)
    const current = caller?.minute === minuteOf(now())
    return {
      runs: caller ? runsOf(caller) : 0,
      waiting: caller?.waiting ?? 0,
      storedBytes: caller?.bytes ?? 0,
      bytesThisMinute: current ? caller.minuteBytes : 0,
      tokensThisMinute: current ? caller.minuteTokens : 0,
    }
  }

  function runsOf(caller: Caller): number {
    return [...caller.threads].filter((thread) => thread.due !== undefined && !isStranded(thread)).length
  }

  /** Those that hold nothing any more are removed on the occasion. */
  function callerNamed(name: string): Caller {
    const found = callers.get(name)
    if (found) return found
    const minute = minuteOf(now())
    for (const [other, caller] of callers)
      if (caller.threads.size === 0 && caller.minute < minute) callers.delete(other)
    const caller = {
      name,
      threads: new Set<Kept>(),
      bytes: 0,
      waiting: 0,
      minute,
      minuteBytes: 0,
      minuteTokens: 0,
    }
    callers.set(name, caller)
    return caller
  }

  /** There is something to do and it has no owner, or the lease has expired. */
  function isStranded({ due, owner, leaseMs }: Kept): boolean {
    return due !== undefined && (owner === undefined || isExpired(due, leaseMs, now()))
  }

  function infoOf(thread: Kept): ThreadInfo {
    const { info, title, updatedAt, head, resting, due } = thread
    const status = due === undefined ? resting : isStranded(thread) ? 'queued' : 'running'
    return { ...info, ...(title !== undefined && { title }), updatedAt, head, status }
  }

  /** False if there is one of that id. */
  function make(
    op: string,
    thread: NewThread,
    entries: readonly PackedEntry[],
    quotas: Quotas | undefined,
  ): boolean {
    const { id, agent, user, caller = user, metadata, forkedFrom } = thread
    if (threads.has(id)) return false
    const createdAt = now()
    if (caller !== undefined && quotas)
      checkQuotas(usageOf(caller), quotas, ['storedBytes', 'bytesPerMinute'], { op, time: createdAt })
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
      metadataChars: metadata ? JSON.stringify(metadata).length : 0,
      title: undefined,
      text: searchText({ id, agent, metadata }),
      entries: entries.map(withBytes),
      updatedAt: last?.at ?? createdAt,
      head: last?.seq ?? 0,
      place: ++places,
      resting: 'idle',
      due: last && createdAt,
      owner: undefined,
      epoch: 0,
      leaseMs: 0,
      losses: 0,
      caller: caller === undefined ? undefined : callerNamed(caller),
      bytes: 0,
      queued: 0,
      keys: new Map(),
      parts: new Map(),
      snapshot: undefined,
    }
    kept.caller?.threads.add(kept)
    const bytes = bytesOfThread(metadata) + sumOf(kept.entries, (entry) => entry.bytes)
    count(kept, { bytes, waiting: waitingIn(entries) })
    name(kept, entries)
    threads.set(id, kept)
    order.add(kept)
    watching.tell([id])
    return true
  }

  return {
    create: (thread, { entries = [], quotas } = {}) =>
      answer('store.create', () => {
        const problem = logProblem(entries)
        if (problem) throw badLog('store.create', problem)
        return make('store.create', thread, entries, quotas)
      }),

    fork: (threadId, at, thread, quotas) =>
      answer('store.fork', () => {
        const op = 'store.fork'
        const { entries, head } = find(op, threadId)
        if (at > head) throw badFork(op, threadId, { at, head })
        const end = indexAfter(entries, at)
        const copied: PackedEntry[] = entries.slice(0, end)
        const cut = entries[end]
        if (cut && firstOf(cut) <= at) copied.push(...entriesBetween(cut, 0, at))
        let log = emptyCopy
        for (const { event } of copied) log = addToCopy(log, event)
        if (log.isRunning) copied.push(endOfCopy(at + 1, copied.at(-1)?.at ?? 0))
        return make(op, thread, copied, quotas)
      }),

    get: (threadId) =>
      answer('store.get', () => {
        const thread = threads.get(threadId)
        if (!thread) return undefined
        const { bytes, caller } = thread
        return { ...infoOf(thread), bytes, ...(caller && { caller: caller.name }) }
      }),

    async list({ limit, cursor, user, agent, status, search }) {
      const op = 'store.list'
      if (closed) throw storeClosed(op)
      const below = placeOfCursor(op, cursor)
      const last = places
      const words = search === undefined ? [] : searchWords(search)
      const page: ThreadInfo[] = []
      let [chars, place, looked] = [0, 0, 0]
      for (const thread of [...order].reverse()) {
        if (++looked % sliceLength === 0) await nextTurn()
        // Changed or deleted since the list began.
        if (thread.place > last || !order.has(thread)) continue
        if (thread.place >= below || !words.every((word) => thread.text.includes(word))) continue
        const { info } = thread
        if ((user ?? info.user) !== info.user || (agent ?? info.agent) !== info.agent) continue
        const found = infoOf(thread)
        if (status !== undefined && found.status !== status) continue
        if (page.length >= limit || chars >= pageBytes) return { threads: page, next: String(place) }
        page.push(found)
        chars += info.id.length + thread.metadataChars + (thread.title?.length ?? 0)
        place = thread.place
      }
      return { threads: page }
    },

    delete: (threadId) =>
      answer('store.delete', () => {
        const thread = threads.get(threadId)
        if (!thread) return false
        threads.delete(threadId)
        order.delete(thread)
        thread.caller?.threads.delete(thread)
        count(thread, { bytes: -thread.bytes, waiting: -thread.queued })
        watching.tell([threadId])
        return true
      }),

    append: (batches) =>
      answer('store.append', () =>
        batches.map(({ lease, events }) => {
          const thread = ownedBy(lease)
          if (!thread) return 'fenced'
          const entries = events.map((event) =>
            write(thread, event, { waiting: -heardBy(event), tokens: tokensOf(event) }),
          )
          if (entries.length > 0) watching.tell([lease.threadId], thread.head)
          return entries
        }),
      ),

    signal: (threadId, key, event, quotas) =>
      answer('store.signal', () => {
        const op = 'store.signal'
        const thread = find(op, threadId)
        const first = key === undefined ? undefined : thread.keys.get(key)
        if (first !== undefined) return { entry: entryAt(thread, first), repeated: true }
        if (thread.caller && quotas)
          checkQuotas(usageOf(thread.caller.name), quotas, inputQuotas, { op, time: now() })
        const entry = write(thread, event, { waiting: isWaitingInput(event) ? 1 : 0 })
        if (key !== undefined) thread.keys.set(key, entry.seq)
        thread.due ??= entry.at
        watching.tell([threadId], entry.seq)
        return { entry, repeated: false }
      }),

    read: (threadId, options) =>
      answer('store.read', () => {
        const { entries } = find('store.read', threadId)
        return readEntries(pageFrom(entries, indexAfter(entries, options.after)), options)
      }),

    claim: (threadId, owner, leaseMs, runs = Infinity) =>
      answer('store.claim', () => {
        const thread = threads.get(threadId)
        if (!thread || !isStranded(thread)) return undefined
        if (thread.caller && runsOf(thread.caller) >= runs) return undefined
        thread.losses = thread.owner === undefined ? 0 : thread.losses + 1
        thread.owner = owner
        thread.epoch = ++epochs
        thread.due = now() + leaseMs
        thread.leaseMs = leaseMs
        return { lease: { threadId, owner, epoch: thread.epoch }, losses: thread.losses }
      }),

    renew: (leases, leaseMs) =>
      answer('store.renew', () =>
        leases.filter((lease) => {
          const thread = ownedBy(lease)
          if (thread) Object.assign(thread, { due: now() + leaseMs, leaseMs })
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

    stranded: (limit, agents, runs = Infinity) =>
      answer('store.stranded', () => {
        const turns = new Map<Caller | undefined, number>()
        return [...threads.values()]
          .filter((thread) => isStranded(thread) && agents.includes(thread.info.agent))
          .sort(byDue)
          .map((thread) => {
            const { caller } = thread
            const turn = turns.get(caller) ?? (caller ? runsOf(caller) : 0)
            turns.set(caller, turn + 1)
            return { thread, turn }
          })
          .filter(({ thread, turn }) => !thread.caller || turn < runs)
          .sort((one, other) => one.turn - other.turn || byDue(one.thread, other.thread))
          .slice(0, limit)
          .map(({ thread }) => thread.info.id)
      }),

    usage: (caller) => answer('store.usage', () => usageOf(caller)),

    snapshot: (threadId) => answer('store.snapshot', () => threads.get(threadId)?.snapshot),

    snapshotPart: (threadId, name) =>
      answer('store.snapshotPart', () => threads.get(threadId)?.parts.get(name)),

    saveSnapshot: (lease, { parts, head }) =>
      answer('store.saveSnapshot', () => {
        const thread = ownedBy(lease)
        if (!thread) return 'fenced'
        for (const [name, text] of parts) thread.parts.set(name, text)
        if (head) thread.snapshot = head
        return 'saved'
      }),

    compact: (threadId, upTo) =>
      answer('store.compact', () => {
        const thread = find('store.compact', threadId)
        const end = indexAfter(thread.entries, upTo)
        const before = thread.entries.slice(0, end)
        const packed = packEntries(before).map(withBytes)
        const saved = sumOf(before, ({ bytes }) => bytes) - sumOf(packed, ({ bytes }) => bytes)
        count(thread, { bytes: -saved, waiting: 0 })
        thread.entries = packed.concat(thread.entries.slice(end))
      }),

    watch(listener) {
      return watching.add(listener)
    },

    async close() {
      closed = true
      watching.clear()
      threads.clear()
      order.clear()
    },
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}

function byDue(one: Kept, other: Kept): number {
  return (one.due ?? 0) - (other.due ?? 0)
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

/** What an entry takes in a store that keeps text. */
function bytesOf({ event, cuts }: PackedEntry): number {
  return byteLength(JSON.stringify(event)) + (cuts ? byteLength(JSON.stringify(cuts)) : 0)
}

function withBytes(entry: PackedEntry): KeptEntry {
  return 'bytes' in entry ? (entry as KeptEntry) : { ...entry, bytes: bytesOf(entry) }
}

/** A large log is not copied for a page of it. */
function* pageFrom(entries: readonly KeptEntry[], start: number): Generator<KeptEntry> {
  let bytes = 0
  for (let index = start; index < entries.length && bytes < pageBytes; index++) {
    const entry = entries[index] as KeptEntry
    yield entry
    bytes += entry.bytes
  }
}

function entryAt({ entries }: Kept, seq: number): Entry {
  const [entry] = readEntries([entries[indexAfter(entries, seq - 1)] as PackedEntry], {
    after: seq - 1,
    limit: 1,
    split: true,
  })
  return entry as Entry
}
