import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import { logProblem, readEntries } from '../entries.ts'
import { reserveAt } from '../rates.ts'
import type { Lease, NewThread, Quotas, RunLimits, ThreadFacts, ThreadLabel, ThreadStore } from '../store.ts'
import { badBatch, badFork, badLog, threadNotFound } from '../store-errors.ts'
import {
  byteLength,
  bytesOfThread,
  checkQuotas,
  inputQuotas,
  inputsTakenBy,
  isWaitingInput,
  sharedBytes,
  sumOf,
  tokensOf,
  waitingIn,
} from '../usage.ts'
import { watchers } from '../watchers.ts'
import { callerRows } from './callers.ts'
import { changePoller } from './changes.ts'
import { commits } from './commits.ts'
import { failure } from './failure.ts'
import { runnableFinder } from './find-runnable.ts'
import { threadLister } from './list.ts'
import { packSlice } from './pack-deltas.ts'
import type { EntryRow, LogSegment, Origin, ThreadRow } from './rows.ts'
import {
  entriesOf,
  fromColumn,
  gap,
  infoOf,
  optional,
  originIn,
  packedColumns,
  priorityOf,
  toColumn,
} from './rows.ts'

import { snapshots } from './snapshots.ts'
import { spendingTables } from './spending.ts'
import { prepareStatements } from './statements.ts'
import { sweeper } from './sweep.ts'

export interface DatabaseStoreOptions {
  readonly path: string
  readonly now: () => number
  readonly busyMs: number
  readonly pollMs: number
  /** After how long a search returns a page that is not full. */
  readonly scanMs?: number | undefined
}

interface HeadRow {
  readonly n: number
  readonly head: number
  readonly caller: number | null
}

interface SignaledRow extends HeadRow, Pick<ThreadRow, 'agent' | 'background' | 'owner'> {
  readonly untitled: 0 | 1
}

interface LeasedRow extends HeadRow {
  readonly batch: number
  readonly batch_seq: number
  readonly batch_at: number
}

interface UnchangedRow extends Pick<ThreadRow, 'id' | 'due'> {
  readonly changed: number
}

interface NewRow {
  readonly time: number
  readonly bytes: number
  readonly quotas: Quotas | undefined
  readonly queued: number
  readonly head: number
  /** `time` if absent. */
  readonly createdAt?: number | undefined
  /** `createdAt` if absent. */
  readonly updatedAt: number | undefined
  readonly base?: LogSegment | undefined
}

/** A page ends after this much text, however few entries that is: a stuck reader holds one page. */
const pageChars = 256 * 1024

/** A store on an open database. It owns the database from here on. */
export function databaseStore(database: DatabaseSync, options: DatabaseStoreOptions): ThreadStore {
  const { path, busyMs, pollMs } = options
  const now = () => Math.round(options.now())
  const sql = prepareStatements(database)
  const queue = commits(database, { path, busyMs })
  const { read, write, writeLater, close } = queue
  const list = threadLister(database, { now, read, scanMs: options.scanMs })
  const callers = callerRows(sql)
  const spent = spendingTables(database, queue, now)
  const findThreads = runnableFinder(sql)
  const listeners = watchers()
  const poller = changePoller(sql, { pollMs, watchers: listeners })
  const sweep = sweeper({ statements: sql, callers, read, writeLater, now })
  let closing: Promise<void> | undefined
  sweep.start()

  function threadRow(threadId: string) {
    return sql.getThread.get(toColumn(threadId)) as unknown as
      | (ThreadRow & HeadRow & { queued: number; caller_name: string | null })
      | undefined
  }

  function headOf(op: string, threadId: string) {
    const row = sql.headOf.get(toColumn(threadId))
    if (!row) throw threadNotFound(op, threadId)
    return row as unknown as SignaledRow
  }

  function nextPlace(): number {
    return (sql.lastPlace.get() as { place: number }).place + 1
  }

  function leaseColumns({ threadId, epoch, owner }: Lease) {
    return [toColumn(threadId), epoch, toColumn(owner)] as const
  }

  /** The agents that may have more runs. */
  function agentsWithRoom(agents: readonly string[], { perAgent = {} }: RunLimits, time: number) {
    return agents.filter((agent) => {
      const limit = perAgent[agent]
      if (limit === undefined) return true
      const { runs } = sql.runsOfAgent.get({ agent: toColumn(agent), now: time }) as { runs: number }
      return runs < limit
    })
  }

  function isFull(row: SignaledRow, limits: RunLimits, time: number): boolean {
    const { perCaller = Infinity } = limits
    if (row.caller !== null && perCaller < Infinity && callers.runsOf(row.caller, time) >= perCaller)
      return true
    return agentsWithRoom([fromColumn(row.agent)], limits, time).length === 0
  }

  /**
   * Adds a thread and counts it for its caller, if the quotas allow. Returns its row number;
   * undefined if the id is taken.
   */
  function addThread(op: string, thread: NewThread, row: NewRow): number | undefined {
    const { agent, user, caller: name = user, metadata, forkedFrom, label } = thread
    const { time, quotas, bytes, queued, base, createdAt = time, updatedAt = createdAt } = row
    const id = toColumn(thread.id)
    if (sql.headOf.get(id)) return undefined
    if (name !== undefined && quotas)
      checkQuotas(callers.usageByName(name, time), quotas, ['storedBytes', 'bytesPerMinute'], { op, time })
    const caller = name === undefined ? null : callers.numberOf(name, time)
    const { lastInsertRowid } = sql.addThread.run({
      id,
      agent: toColumn(agent),
      user: optional(user),
      forkedId: optional(forkedFrom?.id),
      forkedSeq: forkedFrom?.seq ?? null,
      createdAt,
      updatedAt,
      addedAt: updatedAt === time ? null : time,
      head: row.head,
      place: nextPlace(),
      due: row.head > 0 ? time : null,
      epoch: Math.floor(Math.random() * 2 ** 40),
      title: optional(label?.title),
      caller,
      bytes,
      queued,
      base: base?.thread ?? null,
      baseSeq: base?.upTo ?? 0,
      background: thread.priority === 'batch' ? 1 : 0,
    })
    const n = Number(lastInsertRowid)
    if (label || metadata)
      sql.addSearch.run(n, label?.search ?? '', metadata ? JSON.stringify(metadata) : null)
    callers.count(caller, { bytes, waiting: queued }, time)
    poller.ownWrite()
    return n
  }

  function notifyCreated(threadId: string): void {
    listeners.changed(threadId)
    listeners.runnable()
  }

  /** Returns the length of its text. */
  function addEntry(n: number, { seq, at, event }: Entry): number {
    const text = JSON.stringify(event)
    sql.addEntry.run(n, seq, at, text, crc32(text))
    return byteLength(text)
  }

  function setLabel(n: number, { title, search }: ThreadLabel): void {
    sql.setTitle.run(optional(title), n)
    sql.setSearch.run(n, search)
  }

  function addFacts(n: number, { outcome, error, nanos, tools, texts }: ThreadFacts): void {
    sql.setFacts.run(n, outcome ?? null, optional(error), nanos)
    for (const name of tools) sql.addTool.run(n, toColumn(name))
    for (const { seq, text, search } of texts) sql.addText.run({ n, seq, search, text })
  }

  /** Counts messages of a thread as no longer waiting. Returns how many. */
  function takeQueued(n: number, inputs: number): number {
    if (inputs === 0) return 0
    const { queued } = sql.queuedOf.get(n) as { queued: number }
    const taken = Math.min(inputs, queued)
    sql.setQueued.run(queued - taken, n)
    return taken
  }

  /** Notifies other processes of a change that adds no entry. */
  function addNotice(threadId: string): void {
    const place = nextPlace()
    sql.addNotice.run(place, toColumn(threadId))
    sql.forgetNotices.run(place)
    poller.ownWrite()
  }

  function readFrom(
    op: string,
    threadId: string,
    options: { readonly after: number; readonly limit: number; readonly split?: boolean | undefined },
  ): Entry[] {
    const origin = originIn(path, op, threadId)
    sql.beginRead.run()
    try {
      return readEntries(entriesOf(rowsAfter(options, origin), options.after, origin), options)
    } finally {
      sql.endRead.run()
    }
  }

  /** The segments with the entries of a thread after a number, in order. */
  function segmentsAfter(op: string, threadId: string, after: number): LogSegment[] {
    const segments = sql.segmentsAfter.all({ id: toColumn(threadId), after }) as unknown as LogSegment[]
    if (segments.length === 0) throw threadNotFound(op, threadId)
    return segments.reverse()
  }

  /** Yields one page of a log. */
  function* rowsAfter({ after, limit }: { after: number; limit: number }, origin: Origin) {
    const segments = segmentsAfter(origin.op, origin.threadId, after)
    let chars = 0
    for (const segment of segments)
      for (const found of sql.readSegment.iterate({ thread: segment.thread, after, limit })) {
        const row = found as unknown as EntryRow
        if ((row.first ?? row.seq) > segment.upTo) break
        yield row.seq > segment.upTo ? { ...row, upTo: segment.upTo } : row
        chars += row.event.length
        if (chars >= pageChars) return
      }
    if (chars === 0 && (segments.at(-1) as LogSegment).upTo > after) throw gap(after + 1, origin)
  }

  return {
    async create(thread, { entries = [], keys = new Map(), createdAt, quotas } = {}) {
      const op = 'store.create'
      const problem = logProblem(entries, keys)
      if (problem) throw badLog(op, problem)
      const rows = entries.map(packedColumns)
      const bytes = rows.reduce((sum, row) => sum + row.bytes, bytesOfThread(thread.metadata))
      const created = await write(op, () => {
        const last = entries.at(-1)
        const n = addThread(op, thread, {
          time: now(),
          bytes,
          quotas,
          queued: waitingIn(entries),
          head: last?.seq ?? 0,
          createdAt: createdAt && Math.round(createdAt),
          updatedAt: last?.at,
        })
        if (n === undefined) return false
        for (const { columns } of rows) sql.addPacked.run(n, ...columns)
        for (const [key, seq] of keys) sql.addSignal.run(n, toColumn(key), seq)
        return true
      })
      if (created) notifyCreated(thread.id)
      return created
    },

    async fork(threadId, at, thread, { events = [], waiting = 0, quotas } = {}) {
      const op = 'store.fork'
      const created = await write(op, () => {
        const source = threadRow(threadId)
        if (!source) throw threadNotFound(op, threadId)
        const { head } = source
        if (at > head) throw badFork(op, threadId, { at, head })
        const [last] = at > 0 ? readFrom(op, threadId, { after: at - 1, limit: 1, split: true }) : []
        // The thread that holds the entry itself, so that the fork does not depend on others in
        // between.
        const [owner] = segmentsAfter(op, threadId, at - 1)
        const time = now()
        const entries = events.map((event, index) =>
          packedColumns({ seq: at + 1 + index, at: last?.at ?? time, event }),
        )
        const n = addThread(op, thread, {
          time,
          bytes:
            bytesOfThread(thread.metadata) +
            sharedBytes(source.bytes, { at, head }) +
            sumOf(entries, ({ bytes }) => bytes),
          quotas,
          queued: waiting,
          head: at + events.length,
          updatedAt: last?.at,
          base: owner && last && { thread: owner.thread, upTo: at },
        })
        for (const { columns } of n === undefined ? [] : entries) sql.addPacked.run(n as number, ...columns)
        return n !== undefined
      })
      if (created) notifyCreated(thread.id)
      return created
    },

    get: (threadId) =>
      read('store.get', () => {
        const row = threadRow(threadId)
        if (!row) return undefined
        const { bytes, caller_name: caller } = row
        return {
          ...infoOf(row, now()),
          bytes,
          priority: priorityOf(row),
          ...(caller !== null && { caller: fromColumn(caller) }),
        }
      }),

    list,

    async delete(threadId) {
      const existed = await write('store.delete', () => {
        const row = threadRow(threadId)
        if (!row) return false
        // First, so that its own place is not reused.
        addNotice(threadId)
        spent.freeAll(row.n)
        sweep.hide(row)
        return true
      })
      if (existed) {
        listeners.changed(threadId)
        sweep.start()
      }
      return existed
    },

    async append(batches) {
      const written = await write('store.append', () => {
        const at = now()
        let place = nextPlace()
        const total = callers.counter()
        const spending = spent.counter()
        const results = batches.map(({ lease, number, events, freed = [] }) => {
          const columns = leaseColumns(lease)
          const thread = sql.headByLease.get(...columns) as unknown as LeasedRow | undefined
          if (!thread) return 'fenced'
          const { n, head, caller, batch, batch_seq, batch_at } = thread
          const isRepeated = number > 0 && number === batch
          if (events.length > 0 && !isRepeated && number !== batch + 1)
            throw badBatch(lease.threadId, number, batch)
          for (const id of freed) spent.free(n, id)
          if (events.length === 0) return []
          if (isRepeated) return numbered(events, batch_seq - events.length, batch_at)
          spending.add(n, events)
          const entries = numbered(events, head, at)
          const bytes = sumOf(entries, (entry) => addEntry(n, entry))
          sql.growByLease.run({ n, head: head + events.length, at, place: place++, bytes, batch: number })
          const answered = takeQueued(n, sumOf(events, inputsTakenBy))
          if (caller !== null)
            total.add(caller, { bytes, waiting: -answered, tokens: sumOf(events, tokensOf) })
          return entries
        })
        total.write(at)
        spending.write(at)
        poller.ownWrite()
        return results
      })
      for (const [index, { lease }] of batches.entries()) {
        const entries = written[index]
        const last = Array.isArray(entries) ? (entries.at(-1) as Entry | undefined) : undefined
        if (last) listeners.changed(lease.threadId, last.seq)
      }
      return written
    },

    async signal(threadId, key, event, { quotas, label, relabel } = {}) {
      const op = 'store.signal'
      const result = await write(op, () => {
        const row = headOf(op, threadId)
        const { n, head, caller, untitled } = row
        const thread = { agent: fromColumn(row.agent), priority: priorityOf(row) }
        const known = sql.getSignal.get(n, toColumn(key))
        if (known) {
          const { seq } = known as { seq: number }
          const [entry] = readFrom(op, threadId, { after: seq - 1, limit: 1, split: true })
          return { ...thread, entry: entry as Entry, repeated: true, owned: true }
        }
        const at = now()
        if (caller !== null && quotas)
          checkQuotas(callers.usage(caller, at), quotas, inputQuotas, { op, time: at })
        const entry: Entry = { seq: head + 1, at, event }
        const bytes = addEntry(n, entry)
        const waiting = isWaitingInput(event) ? 1 : 0
        sql.growBySignal.run(entry.seq, at, nextPlace(), at, bytes, waiting, n)
        if (label && (untitled || relabel)) setLabel(n, label)
        sql.addSignal.run(n, toColumn(key), entry.seq)
        callers.count(caller, { bytes, waiting }, at)
        poller.ownWrite()
        return { ...thread, entry, repeated: false, owned: row.owner !== null }
      })
      const { owned, ...signaled } = result
      if (!signaled.repeated) listeners.changed(threadId, signaled.entry.seq)
      if (!owned) listeners.runnable()
      return signaled
    },

    read: (threadId, options) => read('store.read', () => readFrom('store.read', threadId, options)),

    heads: (threadIds) =>
      read('store.heads', () => {
        const found = new Map<string, number>()
        for (const id of threadIds) {
          const row = sql.headOf.get(toColumn(id)) as unknown as HeadRow | undefined
          if (row) found.set(id, row.head)
        }
        return found
      }),

    claim: (threadId, owner, leaseMs, limits = {}) =>
      write('store.claim', () => {
        const time = now()
        const id = toColumn(threadId)
        const row = sql.headOf.get(id) as unknown as SignaledRow | undefined
        if (!row) return undefined
        const lease = {
          id,
          owner: toColumn(owner),
          due: Math.round(time + leaseMs),
          leaseMs: Math.round(leaseMs),
        }
        const claimed =
          row.owner === lease.owner
            ? sql.claimAgain.get(lease)
            : isFull(row, limits, time)
              ? undefined
              : sql.claim.get({ ...lease, now: time })
        if (!claimed) return undefined
        const { epoch, losses } = claimed as { epoch: number; losses: number }
        return { lease: { threadId, owner, epoch }, losses }
      }),

    renew: (leases, leaseMs) =>
      write('store.renew', () => {
        const columns = [Math.round(now() + leaseMs), Math.round(leaseMs)] as const
        // While something runs here, poll often for changes by other processes.
        if (leases.length > 0) poller.ownWrite()
        return leases.filter((lease) => sql.renew.run(...columns, ...leaseColumns(lease)).changes === 0)
      }),

    async release(lease, { head, status, facts }) {
      const runnable = status === 'runnable'
      const result = await write('store.release', () => {
        const columns = leaseColumns(lease)
        const released = sql.release.get(
          runnable ? now() : null,
          runnable ? null : status,
          ...columns,
          head,
        ) as { n: number } | undefined
        if (!released) {
          if (sql.ownsThread.get(...columns)) return 'moved'
          // It was released before, and this is a repetition.
          return sql.wasReleased.get(columns[0], columns[1]) ? 'released' : 'fenced'
        }
        spent.freeAll(released.n)
        if (facts) addFacts(released.n, facts)
        if (runnable) addNotice(lease.threadId)
        return 'released'
      })
      if (runnable && result === 'released') listeners.runnable()
      return result
    },

    saveFacts: (lease, facts) =>
      writeLater('store.saveFacts', () => {
        const thread = sql.headByLease.get(...leaseColumns(lease)) as unknown as LeasedRow | undefined
        if (!thread) return 'fenced'
        addFacts(thread.n, facts)
        return 'saved'
      }),

    findRunnable: (limit, agents, limits = {}) =>
      read('store.findRunnable', () => {
        const time = now()
        const { perCaller: runs = Infinity } = limits
        return findThreads(limit, { agents: agentsWithRoom(agents, limits, time), runs, time })
      }),

    findUnchanged: (forMs, limit) =>
      read('store.findUnchanged', () => {
        const latest = now() - forMs
        const found: string[] = []
        for (const row of sql.byChange.iterate()) {
          const { id, due, changed } = row as unknown as UnchangedRow
          if (changed > latest || found.length >= limit) break
          if (due === null) found.push(fromColumn(id))
        }
        return found
      }),

    keys: (threadId, key) =>
      read('store.keys', () => {
        const { n } = headOf('store.keys', threadId)
        const found = key === undefined ? sql.signalsOf.all(n) : sql.signalOf.all(n, toColumn(key))
        const rows = found as unknown as { key: string; seq: number }[]
        return new Map(rows.map(({ key, seq }) => [fromColumn(key), seq]))
      }),

    findKey: (key, limit) =>
      read('store.findKey', () => {
        const rows = sql.findKey.all(toColumn(key), limit) as unknown as { id: string; seq: number }[]
        return rows.map(({ id, seq }) => ({ threadId: fromColumn(id), seq }))
      }),

    reserve(rate, amount) {
      const name = toColumn(rate.name)
      const reserve = () => {
        const { freeAt = 0 } = (sql.rateOf.get(name) ?? {}) as { freeAt?: number }
        return reserveAt(rate, amount, { freeAt, now: now() })
      }
      const op = 'store.reserve'
      if (amount === 0) return read(op, () => reserve().waitMs)
      return write(op, () => {
        const { freeAt, waitMs } = reserve()
        sql.setRate.run(name, freeAt)
        return waitMs
      })
    },

    usage: (caller) => read('store.usage', () => callers.usageByName(caller, now())),

    hold: spent.hold,

    spending: spent.spending,

    ...snapshots(database, sql, queue),

    async packDeltas(threadId, upTo) {
      const op = 'store.packDeltas'
      const origin = originIn(path, op, threadId)
      const slice = () => packSlice({ statements: sql, callers, time: now() }, upTo, origin)
      while (await writeLater(op, slice)) {}
    },

    watch(watcher) {
      const watch = listeners.open(watcher, () => {
        if (listeners.count === 0) poller.stop()
      })
      if (!closing) poller.start()
      return watch
    },

    close() {
      closing ??= closeAll()
      return closing
    },
  }

  async function closeAll() {
    poller.stop()
    listeners.clear()
    await close()
    try {
      database.close()
    } catch (error) {
      throw failure(error, { op: 'store.close', path })
    }
  }
}

function numbered(events: readonly ThreadEvent[], head: number, at: number): Entry[] {
  return events.map((event, index) => ({ seq: head + 1 + index, at, event }))
}
