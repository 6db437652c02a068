import type { Entry, OptionTable, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { aFunction, checkOptions } from '../protocol/index.ts'
import type { PackedEntry } from './entries.ts'
import { entryUpTo, firstOf, logProblem, packEntries, readEntries } from './entries.ts'
import { isExpired } from './lease.ts'
import type { CallerUsage, Lease, NewThread, Quotas, ThreadLabel, ThreadStore } from './store.ts'
import { badFork, badLog, placeOfCursor, storeClosed, threadNotFound } from './store-errors.ts'
import {
  byteLength,
  bytesOfThread,
  checkQuotas,
  heardBy,
  inputQuotas,
  isWaitingInput,
  minuteOf,
  sharedBytes,
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
  label: ThreadLabel
  /** Those that were written to it, behind what it shares with `base`. */
  entries: KeptEntry[]
  readonly base: Share | undefined
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
  /** By number. */
  heads: readonly { readonly seq: number; readonly state: string }[]
}

/** The entries of a thread up to a number. A thread that was deleted lives on for as long as a fork refers to it. */
interface Share {
  readonly thread: Kept
  readonly seq: number
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

/** What a new thread begins with. */
interface Beginning extends Partial<Pick<Kept, 'base' | 'updatedAt'>> {
  readonly entries: readonly PackedEntry[]
  /** About how many bytes it shares with `base`. */
  readonly sharedBytes?: number
  /** Counted in the entries if absent. */
  readonly waiting?: number
  readonly quotas: Quotas | undefined
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
    thread.updatedAt = entry.at
    thread.place = ++places
    order.delete(thread)
    order.add(thread)
    return entry
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
    const { info, label, updatedAt, head, resting, due } = thread
    const status = due === undefined ? resting : isStranded(thread) ? 'queued' : 'running'
    const { title } = label
    return { ...info, ...(title !== undefined && { title }), updatedAt, head, status }
  }

  /** False if there is one of that id. */
  function make(op: string, thread: NewThread, { entries, quotas, ...more }: Beginning): boolean {
    const { id, agent, user, caller = user, metadata, forkedFrom, label = { search: '' } } = thread
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
      label,
      entries: entries.map(withBytes),
      base: more.base,
      updatedAt: more.updatedAt ?? last?.at ?? createdAt,
      head: last?.seq ?? more.base?.seq ?? 0,
      place: ++places,
      resting: 'idle',
      due: last || more.base ? createdAt : undefined,
      owner: undefined,
      epoch: 0,
      leaseMs: 0,
      losses: 0,
      caller: caller === undefined ? undefined : callerNamed(caller),
      bytes: 0,
      queued: 0,
      keys: new Map(),
      parts: new Map(),
      heads: [],
    }
    kept.caller?.threads.add(kept)
    const ownBytes = bytesOfThread(metadata) + sumOf(kept.entries, (entry) => entry.bytes)
    const bytes = ownBytes + (more.sharedBytes ?? 0)
    count(kept, { bytes, waiting: more.waiting ?? waitingIn(entries) })
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
        return make('store.create', thread, { entries, quotas })
      }),

    fork: (threadId, at, thread, { events = [], waiting = 0, quotas } = {}) =>
      answer('store.fork', () => {
        const op = 'store.fork'
        const source = find(op, threadId)
        const { head, bytes } = source
        if (at > head) throw badFork(op, threadId, { at, head })
        const updatedAt = at > 0 ? entryAt(source, at).at : now()
        return make(op, thread, {
          entries: events.map((event, index) => ({ seq: at + 1 + index, at: updatedAt, event })),
          // The one that has the entry itself, so that it does not depend on others in between.
          base: at > 0 ? { thread: (sharesAfter(source, at - 1)[0] as Share).thread, seq: at } : undefined,
          sharedBytes: sharedBytes(bytes, { at, head }),
          updatedAt,
          waiting,
          quotas,
        })
      }),

    get: (threadId) =>
      answer('store.get', () => {
        const thread = threads.get(threadId)
        if (!thread) return undefined
        const { bytes, caller } = thread
        return { ...infoOf(thread), bytes, ...(caller && { caller: caller.name }) }
      }),

    async list({ limit, cursor, user, agent, status, search = [] }) {
      const op = 'store.list'
      if (closed) throw storeClosed(op)
      const below = placeOfCursor(op, cursor)
      const last = places
      const page: ThreadInfo[] = []
      let [chars, place, looked] = [0, 0, 0]
      for (const thread of [...order].reverse()) {
        if (++looked % sliceLength === 0) await nextTurn()
        // Changed or deleted since the list began.
        if (thread.place > last || !order.has(thread)) continue
        if (thread.place >= below || !search.every((text) => thread.label.search.includes(text))) continue
        const { info } = thread
        if ((user ?? info.user) !== info.user || (agent ?? info.agent) !== info.agent) continue
        const found = infoOf(thread)
        if (status !== undefined && found.status !== status) continue
        if (page.length >= limit || chars >= pageBytes) return { threads: page, next: String(place) }
        page.push(found)
        chars += info.id.length + thread.metadataChars + (thread.label.title?.length ?? 0)
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

    signal: (threadId, key, event, { quotas, label } = {}) =>
      answer('store.signal', () => {
        const op = 'store.signal'
        const thread = find(op, threadId)
        const first = key === undefined ? undefined : thread.keys.get(key)
        if (first !== undefined) return { entry: entryAt(thread, first), repeated: true }
        if (thread.caller && quotas)
          checkQuotas(usageOf(thread.caller.name), quotas, inputQuotas, { op, time: now() })
        const entry = write(thread, event, { waiting: isWaitingInput(event) ? 1 : 0 })
        if (key !== undefined) thread.keys.set(key, entry.seq)
        if (label && thread.label.title === undefined) thread.label = label
        thread.due ??= entry.at
        watching.tell([threadId], entry.seq)
        return { entry, repeated: false }
      }),

    read: (threadId, options) =>
      answer('store.read', () => {
        const thread = find('store.read', threadId)
        return readEntries(pageAfter(thread, options.after), options)
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

    snapshot: (threadId, upTo = Infinity) =>
      answer('store.snapshot', () => {
        const thread = threads.get(threadId)
        for (const { thread: one, seq } of thread ? sharesAfter(thread, 0).reverse() : []) {
          const head = one.heads.findLast((head) => head.seq <= Math.min(upTo, seq))
          if (head) return head
        }
        return undefined
      }),

    snapshotPart: (threadId, name) =>
      answer('store.snapshotPart', () => {
        const thread = threads.get(threadId)
        const shares = thread ? sharesAfter(thread, 0) : []
        return shares.findLast(({ thread }) => thread.parts.has(name))?.thread.parts.get(name)
      }),

    saveSnapshot: (lease, { parts, head }) =>
      answer('store.saveSnapshot', () => {
        const thread = ownedBy(lease)
        if (!thread) return 'fenced'
        for (const [name, text] of parts) thread.parts.set(name, text)
        const others = thread.heads.filter(({ seq }) => seq !== head?.seq)
        if (head) thread.heads = [...others, head].sort((one, other) => one.seq - other.seq)
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

/** Where the entries after a number are, in their order: the last share is that of the thread itself. */
function sharesAfter(thread: Kept, after: number): Share[] {
  const shares: Share[] = []
  for (let share: Share | undefined = { thread, seq: thread.head }; share; share = share.thread.base) {
    shares.push(share)
    if ((share.thread.base?.seq ?? 0) <= after) break
  }
  return shares.reverse()
}

/** A large log is not copied for a page of it. */
function* pageAfter(thread: Kept, after: number): Generator<PackedEntry> {
  let bytes = 0
  for (const { thread: one, seq } of sharesAfter(thread, after))
    for (let index = indexAfter(one.entries, after); index < one.entries.length; index++) {
      const entry = one.entries[index] as KeptEntry
      if (firstOf(entry) > seq) break
      yield entryUpTo(entry, seq)
      bytes += entry.bytes
      if (bytes >= pageBytes) return
    }
}

function entryAt(thread: Kept, seq: number): Entry {
  const options = { after: seq - 1, limit: 1, split: true }
  return readEntries(pageAfter(thread, seq - 1), options)[0] as Entry
}
