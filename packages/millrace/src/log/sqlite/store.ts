import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Entry } from '../../protocol/index.ts'
import { logProblem, readEntries } from '../entries.ts'
import type { Lease, NewThread, Quotas, ThreadLabel, ThreadStore } from '../store.ts'
import { badFork, badLog, threadNotFound } from '../store-errors.ts'
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
import { entriesOf, fromColumn, gap, infoOf, optional, packedColumns, toColumn } from './rows.ts'
import { snapshots } from './snapshots.ts'
import { prepareStatements } from './statements.ts'
import { sweeper } from './sweep.ts'

export interface DatabaseStoreOptions {
  readonly path: string
  readonly now: () => number
  readonly busyMs: number
  readonly pollMs: number
}

interface HeadRow {
  readonly n: number
  readonly head: number
  readonly untitled?: 0 | 1
  readonly caller: number | null
}

interface NewRow {
  readonly time: number
  readonly bytes: number
  readonly quotas: Quotas | undefined
  readonly queued: number
  readonly head: number
  /** `time` if absent. */
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
  const list = threadLister(database, { now, read })
  const callers = callerRows(sql)
  const findThreads = runnableFinder(sql)
  const listeners = watchers()
  const poller = changePoller(sql, { pollMs, onChange: (id, head) => listeners.notify([id], head) })
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
    return row as unknown as HeadRow
  }

  function nextPlace(): number {
    return (sql.lastPlace.get() as { place: number }).place + 1
  }

  function leaseColumns({ threadId, epoch, owner }: Lease) {
    return [toColumn(threadId), epoch, toColumn(owner)] as const
  }

  /**
   * Adds a thread and counts it for its caller, if the quotas allow. Returns its row number;
   * undefined if the id is taken.
   */
  function addThread(op: string, thread: NewThread, row: NewRow): number | undefined {
    const { agent, user, caller: name = user, metadata, forkedFrom, label } = thread
    const { time, quotas, bytes, queued, base } = row
    const id = toColumn(thread.id)
    if (sql.headOf.get(id)) return undefined
    if (name !== undefined && quotas)
      checkQuotas(callers.usageByName(name, time), quotas, ['storedBytes', 'bytesPerMinute'], { op, time })
    const caller = name === undefined ? null : callers.numberOf(name, time)
    const { lastInsertRowid } = sql.addThread.run({
      id,
      agent: toColumn(agent),
      user: optional(user),
      metadata: metadata ? JSON.stringify(metadata) : null,
      forkedId: optional(forkedFrom?.id),
      forkedSeq: forkedFrom?.seq ?? null,
      time,
      updatedAt: row.updatedAt ?? time,
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
    })
    const n = Number(lastInsertRowid)
    if (label) sql.setSearch.run(n, label.search)
    callers.count(caller, { bytes, waiting: queued }, time)
    poller.ownWrite()
    return n
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
    const origin = { op, path, threadId }
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
    async create(thread, { entries = [], quotas } = {}) {
      const op = 'store.create'
      const problem = logProblem(entries)
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
          updatedAt: last?.at,
        })
        for (const { columns } of n === undefined ? [] : rows) sql.addPacked.run(n as number, ...columns)
        return n !== undefined
      })
      if (created) listeners.notify([thread.id])
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
      if (created) listeners.notify([thread.id])
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
        sweep.hide(row)
        return true
      })
      if (existed) {
        listeners.notify([threadId])
        sweep.start()
      }
      return existed
    },

    async append(batches) {
      const written = await write('store.append', () => {
        const at = now()
        let place = nextPlace()
        const total = callers.counter()
        const results = batches.map(({ lease, events }) => {
          const columns = leaseColumns(lease)
          const thread = sql.headByLease.get(...columns) as unknown as HeadRow | undefined
          if (!thread) return 'fenced'
          if (events.length === 0) return []
          const { n, head, caller } = thread
          const entries = events.map((event, index): Entry => ({ seq: head + 1 + index, at, event }))
          const bytes = sumOf(entries, (entry) => addEntry(n, entry))
          sql.growByLease.run(head + events.length, at, place++, bytes, n)
          const answered = takeQueued(n, sumOf(events, inputsTakenBy))
          if (caller !== null)
            total.add(caller, { bytes, waiting: -answered, tokens: sumOf(events, tokensOf) })
          return entries
        })
        total.write(at)
        poller.ownWrite()
        return results
      })
      for (const [index, { lease }] of batches.entries()) {
        const entries = written[index]
        const last = Array.isArray(entries) ? (entries.at(-1) as Entry | undefined) : undefined
        if (last) listeners.notify([lease.threadId], last.seq)
      }
      return written
    },

    async signal(threadId, key, event, { quotas, label } = {}) {
      const op = 'store.signal'
      const result = await write(op, () => {
        const { n, head, caller, untitled } = headOf(op, threadId)
        const known = key === undefined ? undefined : sql.getSignal.get(n, toColumn(key))
        if (known) {
          const { seq } = known as { seq: number }
          const [entry] = readFrom(op, threadId, { after: seq - 1, limit: 1, split: true })
          return { entry: entry as Entry, repeated: true }
        }
        const at = now()
        if (caller !== null && quotas)
          checkQuotas(callers.usage(caller, at), quotas, inputQuotas, { op, time: at })
        const entry: Entry = { seq: head + 1, at, event }
        const bytes = addEntry(n, entry)
        const waiting = isWaitingInput(event) ? 1 : 0
        sql.growBySignal.run(entry.seq, at, nextPlace(), at, bytes, waiting, n)
        if (untitled && label) setLabel(n, label)
        if (key !== undefined) sql.addSignal.run(n, toColumn(key), entry.seq)
        callers.count(caller, { bytes, waiting }, at)
        poller.ownWrite()
        return { entry, repeated: false }
      })
      if (!result.repeated) listeners.notify([threadId], result.entry.seq)
      return result
    },

    read: (threadId, options) => read('store.read', () => readFrom('store.read', threadId, options)),

    claim: (threadId, owner, leaseMs, runs) =>
      write('store.claim', () => {
        const time = now()
        const id = toColumn(threadId)
        if (runs !== undefined) {
          const { caller = null } = (sql.headOf.get(id) ?? {}) as Partial<HeadRow>
          if (caller !== null && callers.runsOf(caller, time) >= runs) return undefined
        }
        const lease = { due: Math.round(time + leaseMs), leaseMs: Math.round(leaseMs) }
        const claimed = sql.claim.get({ id, owner: toColumn(owner), now: time, ...lease })
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

    async release(lease, { head, status }) {
      const runnable = status === 'runnable'
      const result = await write('store.release', () => {
        const columns = leaseColumns(lease)
        const { changes } = sql.release.run(
          runnable ? now() : null,
          runnable ? null : status,
          ...columns,
          head,
        )
        if (changes === 0) return sql.ownsThread.get(...columns) ? 'moved' : 'fenced'
        if (runnable) addNotice(lease.threadId)
        return 'released'
      })
      if (runnable && result === 'released') listeners.notify([lease.threadId])
      return result
    },

    findRunnable: (limit, agents, runs = Infinity) =>
      read('store.findRunnable', () => findThreads(limit, { agents, runs, time: now() })),

    usage: (caller) => read('store.usage', () => callers.usageByName(caller, now())),

    ...snapshots(database, sql, queue),

    async packDeltas(threadId, upTo) {
      const op = 'store.packDeltas'
      const origin = { op, path, threadId }
      const slice = () => packSlice({ statements: sql, callers, time: now() }, upTo, origin)
      while (await writeLater(op, slice)) {}
    },

    watch(listener) {
      if (closing) return () => {}
      const end = listeners.add(listener)
      poller.start()
      return () => {
        end()
        if (listeners.count === 0) poller.stop()
      }
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
