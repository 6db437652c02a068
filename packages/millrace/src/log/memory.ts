import type { Entry, OptionTable, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { aFunction, checkOptions } from '../protocol/index.ts'
import type { PackedEntry } from './entries.ts'
import { entryUpTo, firstOf, logProblem, packEntries, readEntries } from './entries.ts'
import { isExpired } from './lease.ts'
import type { MemoryFacts } from './memory-facts.ts'
import { memoryFacts, searchThread } from './memory-facts.ts'
import { memorySpending } from './memory-spending.ts'
import { patchedThread, patchesIn } from './patched.ts'
import { reserveAt } from './rates.ts'
import type {
  CallerUsage,
  Lease,
  ListOptions,
  NewThread,
  Priority,
  Quotas,
  RunLimits,
  ThreadLabel,
  ThreadStore,
  ThreadText,
} from './store.ts'
import { badBatch, badFork, badLog, placeOfCursor, storeClosed, threadNotFound } from './store-errors.ts'
import {
  byteLength,
  bytesOfThread,
  checkQuotas,
  inputQuotas,
  inputsTakenBy,
  isWaitingInput,
  minuteOf,
  sharedBytes,
  sumOf,
  tokensOf,
  waitingIn,
} from './usage.ts'
import { watchers } from './watchers.ts'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970. For tests that control the clock. */
  readonly now?: (() => number) | undefined
}

/** An entry with the length of its text. */
interface SizedEntry extends PackedEntry {
  readonly bytes: number
}

/** A thread in memory. `info` only changes with the metadata. */
interface MemoryThread {
  info: Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom' | 'createdAt'>
  /** Counts threads in the order of their creation. */
  readonly n: number
  metadataChars: number
  readonly priority: Priority
  label: ThreadLabel
  readonly facts: MemoryFacts
  /** Entries written to this thread, after those it shares with `base`. */
  entries: SizedEntry[]
  readonly base: LogSegment | undefined
  updatedAt: number
  /** When it was created or last written here; a copy's `updatedAt` is earlier. */
  changedAt: number
  head: number
  /** Its place in the order of changes. */
  place: number
  /** Its status while there is nothing to do. */
  resting: 'idle' | 'waiting'
  /**
   * When it can be claimed: since it became runnable, or when its owner's lease expires. Undefined
   * if there is nothing to do.
   */
  due: number | undefined
  owner: string | undefined
  epoch: number
  /** The length of the lease. */
  leaseMs: number
  /** Consecutive owners that did not release it. */
  losses: number
  /** The number and the entries of the last batch of its lease. */
  batch: number
  batchEntries: readonly Entry[]
  /** The caller it counts for, the bytes it counts as, and how many messages wait in it. */
  readonly caller: Caller | undefined
  bytes: number
  queued: number
  readonly keys: Map<string, number>
  readonly parts: Map<string, string>
  /** Sorted by `seq`. */
  heads: readonly { readonly seq: number; readonly state: string }[]
}

/**
 * The entries of a thread up to a number. A deleted thread stays in memory as long as a fork refers
 * to it.
 */
interface LogSegment {
  readonly thread: MemoryThread
  readonly seq: number
}

/** A caller and what it uses. */
interface Caller {
  readonly name: string
  readonly threads: Set<MemoryThread>
  bytes: number
  waiting: number
  minute: number
  minuteBytes: number
  minuteTokens: number
}

/** The initial content of a thread. */
interface InitialContent extends Partial<Pick<MemoryThread, 'base' | 'updatedAt'>> {
  readonly keys?: ReadonlyMap<string, number> | undefined
  /** Now if absent. */
  readonly createdAt?: number | undefined
  readonly entries: readonly PackedEntry[]
  /** Approximate number of bytes shared with `base`. */
  readonly sharedBytes?: number
  /** Counted from the entries if absent. */
  readonly waiting?: number
  readonly quotas: Quotas | undefined
}

/** A page ends after this much text, however few entries or threads that is. */
const pageBytes = 256 * 1024

/** After how many threads and how many milliseconds a search yields to other work. */
const sliceLength = 64
const sliceMs = 4

const optionTable: OptionTable<MemoryStoreOptions> = { now: aFunction }

/**
 * Stores threads in memory, for the lifetime of the process. Several apps in the process may share
 * it.
 */
export function memoryStore(options: MemoryStoreOptions = {}): ThreadStore {
  checkOptions(options, optionTable, { op: 'memoryStore', what: 'the option of memoryStore()' })
  const { now = Date.now } = options
  const threads = new Map<string, MemoryThread>()
  /** The same threads, ordered by their places. */
  const order = new Set<MemoryThread>()
  const callers = new Map<string, Caller>()
  /** The threads that have a signal with a key. */
  const keyed = new Map<string, Set<MemoryThread>>()
  /** When each rate is free: see `reserveAt`. */
  const rates = new Map<string, number>()
  const spent = memorySpending()
  const listeners = watchers()
  let lastPlace = 0
  let lastThread = 0
  // One counter for all threads, so that a lease never matches another thread created later under
  // the same id.
  let lastEpoch = 0
  let closed = false

  /** Runs an operation synchronously and returns its result as a promise. */
  function runOp<Value>(op: string, what: () => Value): Promise<Value> {
    return new Promise((resolve) => {
      if (closed) throw storeClosed(op)
      resolve(what())
    })
  }

  function find(op: string, threadId: string): MemoryThread {
    const thread = threads.get(threadId)
    if (!thread) throw threadNotFound(op, threadId)
    return thread
  }

  /** The thread that a lease is valid for; undefined if it is no longer valid. */
  function ownedBy({ threadId, owner, epoch }: Lease): MemoryThread | undefined {
    const thread = threads.get(threadId)
    return thread && thread.owner === owner && thread.epoch === epoch ? thread : undefined
  }

  /** Whether a lease was released and no other was given out since. */
  function isReleased({ threadId, epoch }: Lease): boolean {
    const thread = threads.get(threadId)
    return thread?.epoch === epoch && thread.owner === undefined
  }

  function write(
    thread: MemoryThread,
    event: ThreadEvent,
    change: { waiting: number; tokens?: number },
  ): Entry {
    const entry: Entry = { seq: ++thread.head, at: now(), event }
    const bytes = bytesOf(entry)
    thread.entries.push({ ...entry, bytes })
    count(thread, { bytes, ...change })
    thread.updatedAt = entry.at
    thread.changedAt = entry.at
    thread.place = ++lastPlace
    order.delete(thread)
    order.add(thread)
    return entry
  }

  function patch(thread: MemoryThread, events: readonly ThreadEvent[]) {
    const patches = patchesIn(events)
    if (patches.length === 0) return
    const { title } = thread.label
    const { metadata, search } = patchedThread(
      { ...thread.info, ...(title !== undefined && { title }) },
      patches,
    )
    thread.info = { ...thread.info, metadata }
    thread.metadataChars = JSON.stringify(metadata).length
    thread.label = { title, search }
  }

  function addKey(thread: MemoryThread, key: string, seq: number) {
    thread.keys.set(key, seq)
    const others = keyed.get(key)
    if (others) others.add(thread)
    else keyed.set(key, new Set([thread]))
  }

  function removeKey(thread: MemoryThread, key: string) {
    const others = keyed.get(key)
    others?.delete(thread)
    if (others?.size === 0) keyed.delete(key)
  }

  /**
   * Changes what a thread, and with it its caller, uses. Added bytes count for the current minute.
   */
  function count(thread: MemoryThread, change: { bytes: number; waiting: number; tokens?: number }) {
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
    return [...caller.threads].filter(isRunning).length
  }

  /** Agents that have as many runs as they may. */
  function fullAgents({ perAgent = {} }: RunLimits): ReadonlySet<string> {
    const room = new Map(Object.entries(perAgent))
    if (room.size === 0) return new Set()
    for (const thread of threads.values()) {
      const left = isRunning(thread) ? room.get(thread.info.agent) : undefined
      if (left !== undefined) room.set(thread.info.agent, left - 1)
    }
    return new Set([...room].flatMap(([agent, left]) => (left > 0 ? [] : agent)))
  }

  /** Finds or adds a caller. Adding one also removes callers that no longer use anything. */
  function callerByName(name: string): Caller {
    const found = callers.get(name)
    if (found) return found
    const minute = minuteOf(now())
    for (const [other, caller] of callers)
      if (caller.threads.size === 0 && caller.minute < minute) callers.delete(other)
    const caller = {
      name,
      threads: new Set<MemoryThread>(),
      bytes: 0,
      waiting: 0,
      minute,
      minuteBytes: 0,
      minuteTokens: 0,
    }
    callers.set(name, caller)
    return caller
  }

  /** There is something to do, and the thread has no owner or the lease has expired. */
  function isRunnable({ due, owner, leaseMs }: MemoryThread): boolean {
    return due !== undefined && (owner === undefined || isExpired(due, leaseMs, now()))
  }

  function isRunning(thread: MemoryThread): boolean {
    return thread.due !== undefined && !isRunnable(thread)
  }

  function infoOf(thread: MemoryThread): ThreadInfo {
    const { info, label, facts, updatedAt, head, resting, due } = thread
    const status = due === undefined ? resting : isRunnable(thread) ? 'queued' : 'running'
    const { title } = label
    return {
      ...info,
      ...(title !== undefined && { title }),
      updatedAt,
      head,
      status,
      ...facts.infoFor(status),
    }
  }

  /** Returns false if the id is taken. */
  function addThread(op: string, thread: NewThread, { entries, quotas, ...more }: InitialContent): boolean {
    const { id, agent, user, caller = user, metadata, forkedFrom, label = { search: '' } } = thread
    if (threads.has(id)) return false
    const time = now()
    const { createdAt = time } = more
    if (caller !== undefined && quotas)
      checkQuotas(usageOf(caller), quotas, ['storedBytes', 'bytesPerMinute'], { op, time })
    const last = entries.at(-1)
    const kept: MemoryThread = {
      info: {
        id,
        agent,
        ...(user !== undefined && { user }),
        ...(metadata && { metadata }),
        ...(forkedFrom && { forkedFrom }),
        createdAt,
      },
      n: ++lastThread,
      metadataChars: metadata ? JSON.stringify(metadata).length : 0,
      priority: thread.priority ?? 'interactive',
      label,
      facts: memoryFacts(more.base?.seq ?? 0),
      entries: entries.map(withBytes),
      base: more.base,
      updatedAt: more.updatedAt ?? last?.at ?? createdAt,
      changedAt: time,
      head: last?.seq ?? more.base?.seq ?? 0,
      place: ++lastPlace,
      resting: 'idle',
      due: last || more.base ? time : undefined,
      owner: undefined,
      epoch: 0,
      leaseMs: 0,
      losses: 0,
      batch: 0,
      batchEntries: [],
      caller: caller === undefined ? undefined : callerByName(caller),
      bytes: 0,
      queued: 0,
      keys: new Map(),
      parts: new Map(),
      heads: [],
    }
    kept.caller?.threads.add(kept)
    for (const [key, seq] of more.keys ?? []) addKey(kept, key, seq)
    const ownBytes = bytesOfThread(metadata) + sumOf(kept.entries, (entry) => entry.bytes)
    const bytes = ownBytes + (more.sharedBytes ?? 0)
    count(kept, { bytes, waiting: more.waiting ?? waitingIn(entries) })
    threads.set(id, kept)
    order.add(kept)
    listeners.changed(id)
    if (kept.due !== undefined) listeners.runnable()
    return true
  }

  return {
    create: (thread, { entries = [], keys, createdAt, quotas } = {}) =>
      runOp('store.create', () => {
        const problem = logProblem(entries, keys)
        if (problem) throw badLog('store.create', problem)
        return addThread('store.create', thread, { entries, keys, createdAt, quotas })
      }),

    fork: (threadId, at, thread, { events = [], waiting = 0, quotas } = {}) =>
      runOp('store.fork', () => {
        const op = 'store.fork'
        const source = find(op, threadId)
        const { head, bytes } = source
        if (at > head) throw badFork(op, threadId, { at, head })
        const updatedAt = at > 0 ? entryAt(source, at).at : now()
        return addThread(op, thread, {
          entries: events.map((event, index) => ({ seq: at + 1 + index, at: updatedAt, event })),
          // The thread that holds the entry itself, so that the fork does not depend on others in
          // between.
          base:
            at > 0 ? { thread: (segmentsAfter(source, at - 1)[0] as LogSegment).thread, seq: at } : undefined,
          sharedBytes: sharedBytes(bytes, { at, head }),
          updatedAt,
          waiting,
          quotas,
        })
      }),

    get: (threadId) =>
      runOp('store.get', () => {
        const thread = threads.get(threadId)
        if (!thread) return undefined
        const { bytes, caller, priority } = thread
        return { ...infoOf(thread), bytes, priority, ...(caller && { caller: caller.name }) }
      }),

    async list({ limit, cursor, search = [], ...filters }) {
      const op = 'store.list'
      if (closed) throw storeClosed(op)
      const below = placeOfCursor(op, cursor)
      const last = lastPlace
      const page: ThreadInfo[] = []
      let [chars, place, scanned] = [0, 0, 0]
      let since = performance.now()
      for (const thread of [...order].reverse()) {
        if (++scanned % sliceLength === 0 && performance.now() - since > sliceMs) {
          await nextTurn()
          since = performance.now()
        }
        // Changed or deleted since listing started.
        if (thread.place > last || !order.has(thread)) continue
        if (thread.place >= below) continue
        const { info } = thread
        const found = infoOf(thread)
        if (!passes(thread, found, filters)) continue
        const result = searchThread(search, thread.label.search, () => textsOf(thread))
        if (!result.found) continue
        if (page.length >= limit || chars >= pageBytes) return { threads: page, next: String(place) }
        page.push(result.match ? { ...found, match: result.match } : found)
        chars += info.id.length + thread.metadataChars + (thread.label.title?.length ?? 0)
        place = thread.place
      }
      return { threads: page }
    },

    delete: (threadId) =>
      runOp('store.delete', () => {
        const thread = threads.get(threadId)
        if (!thread) return false
        threads.delete(threadId)
        order.delete(thread)
        thread.caller?.threads.delete(thread)
        for (const key of thread.keys.keys()) removeKey(thread, key)
        spent.freeAll(thread)
        count(thread, { bytes: -thread.bytes, waiting: -thread.queued })
        listeners.changed(threadId)
        return true
      }),

    append: (batches) =>
      runOp('store.append', () =>
        batches.map(({ lease, number, events, freed = [] }) => {
          const thread = ownedBy(lease)
          if (!thread) return 'fenced'
          const isRepeated = number > 0 && number === thread.batch
          if (events.length > 0 && !isRepeated && number !== thread.batch + 1)
            throw badBatch(lease.threadId, number, thread.batch)
          spent.free(thread, freed)
          if (events.length === 0) return []
          if (isRepeated) return thread.batchEntries
          spent.count(thread.info, events, now())
          const entries = events.map((event) =>
            write(thread, event, { waiting: -inputsTakenBy(event), tokens: tokensOf(event) }),
          )
          patch(thread, events)
          Object.assign(thread, { batch: number, batchEntries: entries })
          listeners.changed(lease.threadId, thread.head)
          return entries
        }),
      ),

    signal: (threadId, key, event, { quotas, label, relabel } = {}) =>
      runOp('store.signal', () => {
        const op = 'store.signal'
        const thread = find(op, threadId)
        const first = thread.keys.get(key)
        const { priority } = thread
        const { agent } = thread.info
        if (first !== undefined) return { entry: entryAt(thread, first), repeated: true, agent, priority }
        if (thread.caller && quotas)
          checkQuotas(usageOf(thread.caller.name), quotas, inputQuotas, { op, time: now() })
        const entry = write(thread, event, { waiting: isWaitingInput(event) ? 1 : 0 })
        addKey(thread, key, entry.seq)
        if (label && (relabel || thread.label.title === undefined)) thread.label = label
        patch(thread, [event])
        thread.due ??= entry.at
        listeners.changed(threadId, entry.seq)
        if (thread.owner === undefined) listeners.runnable()
        return { entry, repeated: false, agent, priority }
      }),

    read: (threadId, options) =>
      runOp('store.read', () => {
        const thread = find('store.read', threadId)
        return readEntries(pageAfter(thread, options.after), options)
      }),

    heads: (threadIds) =>
      runOp('store.heads', () => {
        const found = threadIds.flatMap((id) => threads.get(id) ?? [])
        return new Map(found.map(({ info, head }) => [info.id, head]))
      }),

    claim: (threadId, owner, leaseMs, limits = {}) =>
      runOp('store.claim', () => {
        const thread = threads.get(threadId)
        if (!thread) return undefined
        if (thread.owner !== owner) {
          if (!isRunnable(thread) || fullAgents(limits).has(thread.info.agent)) return undefined
          if (thread.caller && runsOf(thread.caller) >= (limits.perCaller ?? Infinity)) return undefined
          thread.losses = thread.owner === undefined ? 0 : thread.losses + 1
          thread.owner = owner
          thread.epoch = ++lastEpoch
          thread.batch = 0
        }
        thread.due = now() + leaseMs
        thread.leaseMs = leaseMs
        return { lease: { threadId, owner, epoch: thread.epoch }, losses: thread.losses }
      }),

    renew: (leases, leaseMs) =>
      runOp('store.renew', () =>
        leases.filter((lease) => {
          const thread = ownedBy(lease)
          if (thread) Object.assign(thread, { due: now() + leaseMs, leaseMs })
          return !thread
        }),
      ),

    release: (lease, { head, status, facts }) =>
      runOp('store.release', () => {
        const thread = ownedBy(lease)
        if (!thread) return isReleased(lease) ? 'released' : 'fenced'
        if (thread.head !== head) return 'moved'
        if (facts) thread.facts.save(facts)
        thread.owner = undefined
        spent.freeAll(thread)
        if (status === 'runnable') {
          thread.due = now()
          listeners.runnable()
        } else {
          thread.due = undefined
          thread.resting = status
        }
        return 'released'
      }),

    saveFacts: (lease, facts) =>
      runOp('store.saveFacts', () => {
        const thread = ownedBy(lease)
        if (!thread) return 'fenced'
        thread.facts.save(facts)
        return 'saved'
      }),

    findRunnable: (limit, agents, limits = {}) =>
      runOp('store.findRunnable', () => {
        const { perCaller = Infinity } = limits
        const full = fullAgents(limits)
        const turns = new Map<Caller | undefined, number>()
        const isOpen = ({ info }: MemoryThread) => agents.includes(info.agent) && !full.has(info.agent)
        return [...threads.values()]
          .filter((thread) => isRunnable(thread) && isOpen(thread))
          .sort((one, other) => byPriority(one, other) || byDue(one, other))
          .map((thread) => {
            const { caller } = thread
            const turn = turns.get(caller) ?? (caller ? runsOf(caller) : 0)
            turns.set(caller, turn + 1)
            return { thread, turn }
          })
          .filter(({ thread, turn }) => !thread.caller || turn < perCaller)
          .sort(
            (one, other) =>
              byPriority(one.thread, other.thread) ||
              one.turn - other.turn ||
              byDue(one.thread, other.thread),
          )
          .slice(0, limit)
          .map(({ thread: { info, head, priority, due = 0 } }) => {
            const waitedMs = Math.max(0, now() - due)
            return { id: info.id, agent: info.agent, head, priority, waitedMs }
          })
      }),

    findUnchanged: (forMs, limit) =>
      runOp('store.findUnchanged', () => {
        const latest = now() - forMs
        const found: string[] = []
        for (const { changedAt, due, info } of order) {
          if (changedAt > latest || found.length >= limit) break
          if (due === undefined) found.push(info.id)
        }
        return found
      }),

    keys: (threadId, key) =>
      runOp('store.keys', () => {
        const { keys } = find('store.keys', threadId)
        if (key === undefined) return new Map(keys)
        const seq = keys.get(key)
        return new Map(seq === undefined ? [] : [[key, seq]])
      }),

    findKey: (key, limit) =>
      runOp('store.findKey', () =>
        [...(keyed.get(key) ?? [])]
          .sort((one, other) => other.n - one.n)
          .slice(0, limit)
          .map(({ info, keys }) => ({ threadId: info.id, seq: keys.get(key) as number })),
      ),

    reserve: (rate, amount) =>
      runOp('store.reserve', () => {
        const { name } = rate
        const { freeAt, waitMs } = reserveAt(rate, amount, { freeAt: rates.get(name) ?? 0, now: now() })
        if (amount !== 0) rates.set(name, freeAt)
        return waitMs
      }),

    usage: (caller) => runOp('store.usage', () => usageOf(caller)),

    hold: (lease, hold) =>
      runOp('store.hold', () => {
        const thread = ownedBy(lease)
        return thread ? spent.hold(thread, hold, now()) : { type: 'fenced' }
      }),

    spending: (options) => runOp('store.spending', () => spent.spending(options)),

    snapshot: (threadId, upTo = Infinity) =>
      runOp('store.snapshot', () => {
        const thread = threads.get(threadId)
        for (const { thread: one, seq } of thread ? segmentsAfter(thread, 0).reverse() : []) {
          const head = one.heads.findLast((head) => head.seq <= Math.min(upTo, seq))
          if (head) return head
        }
        return undefined
      }),

    snapshotPart: (threadId, name) =>
      runOp('store.snapshotPart', () => {
        const thread = threads.get(threadId)
        const segments = thread ? segmentsAfter(thread, 0) : []
        return segments.findLast(({ thread }) => thread.parts.has(name))?.thread.parts.get(name)
      }),

    saveSnapshot: (lease, { parts, head }) =>
      runOp('store.saveSnapshot', () => {
        const thread = ownedBy(lease)
        if (!thread) return 'fenced'
        for (const [name, text] of parts) thread.parts.set(name, text)
        const others = thread.heads.filter(({ seq }) => seq !== head?.seq)
        if (head) thread.heads = [...others, head].sort((one, other) => one.seq - other.seq)
        return 'saved'
      }),

    packDeltas: (threadId, upTo) =>
      runOp('store.packDeltas', () => {
        const thread = find('store.packDeltas', threadId)
        const end = indexAfter(thread.entries, upTo)
        const before = thread.entries.slice(0, end)
        const packed = packEntries(before).map(withBytes)
        const saved = sumOf(before, ({ bytes }) => bytes) - sumOf(packed, ({ bytes }) => bytes)
        count(thread, { bytes: -saved, waiting: 0 })
        thread.entries = packed.concat(thread.entries.slice(end))
      }),

    watch: (watcher) => listeners.open(watcher),

    async close() {
      closed = true
      listeners.clear()
      threads.clear()
      order.clear()
      keyed.clear()
    },
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}

function passes(
  { facts }: MemoryThread,
  { user, agent, status, outcome, error, updatedAt }: ThreadInfo,
  filters: Omit<ListOptions, 'limit' | 'cursor' | 'search'>,
): boolean {
  const { since = -Infinity, until = Infinity } = filters
  return (
    (filters.user ?? user) === user &&
    (filters.agent ?? agent) === agent &&
    (filters.status ?? status) === status &&
    (filters.outcome ?? outcome) === outcome &&
    (filters.error ?? error) === error &&
    updatedAt >= since &&
    updatedAt <= until &&
    facts.pass(filters)
  )
}

/** The texts of a thread, its own before those it shares. */
function textsOf(thread: MemoryThread): ThreadText[] {
  return segmentsAfter(thread, 0)
    .reverse()
    .flatMap(({ thread: one, seq }) => one.facts.textsUpTo(one === thread ? Infinity : seq))
}

function byPriority(one: MemoryThread, other: MemoryThread): number {
  return Number(one.priority === 'batch') - Number(other.priority === 'batch')
}

function byDue(one: MemoryThread, other: MemoryThread): number {
  return (one.due ?? 0) - (other.due ?? 0)
}

/** The index of the first entry that ends after a number. */
function indexAfter(entries: readonly Entry[], seq: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle] as Entry).seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}

/** The size of an entry in a store that keeps text. */
function bytesOf({ event, cuts }: PackedEntry): number {
  return byteLength(JSON.stringify(event)) + (cuts ? byteLength(JSON.stringify(cuts)) : 0)
}

function withBytes(entry: PackedEntry): SizedEntry {
  return 'bytes' in entry ? (entry as SizedEntry) : { ...entry, bytes: bytesOf(entry) }
}

/**
 * The segments with the entries after a number, in order. The last one is that of the thread
 * itself.
 */
function segmentsAfter(thread: MemoryThread, after: number): LogSegment[] {
  const segments: LogSegment[] = []
  for (
    let segment: LogSegment | undefined = { thread, seq: thread.head };
    segment;
    segment = segment.thread.base
  ) {
    segments.push(segment)
    if ((segment.thread.base?.seq ?? 0) <= after) break
  }
  return segments.reverse()
}

/** Yields one page, without copying a large log. */
function* pageAfter(thread: MemoryThread, after: number): Generator<PackedEntry> {
  let bytes = 0
  for (const { thread: one, seq } of segmentsAfter(thread, after))
    for (let index = indexAfter(one.entries, after); index < one.entries.length; index++) {
      const entry = one.entries[index] as SizedEntry
      if (firstOf(entry) > seq) break
      yield entryUpTo(entry, seq)
      bytes += entry.bytes
      if (bytes >= pageBytes) return
    }
}

function entryAt(thread: MemoryThread, seq: number): Entry {
  const options = { after: seq - 1, limit: 1, split: true }
  return readEntries(pageAfter(thread, seq - 1), options)[0] as Entry
}
