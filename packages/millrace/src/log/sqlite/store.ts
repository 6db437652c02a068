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
  heardBy,
  inputQuotas,
  isWaitingInput,
  sharedBytes,
  sumOf,
  tokensOf,
  waitingIn,
} from '../usage.ts'
import { watchers } from '../watchers.ts'
import { callerRows } from './callers.ts'
import { changes } from './changes.ts'
import { commits } from './commits.ts'
import { compactSlice } from './compact.ts'
import { failure } from './failure.ts'
import { listing } from './list.ts'
import type { EntryRow, Origin, Share, ThreadRow } from './rows.ts'
import { entriesOf, fromColumn, gap, infoOf, optional, packedColumns, toColumn } from './rows.ts'
import { snapshots } from './snapshots.ts'
import { prepareStatements } from './statements.ts'
import { strandedFinder } from './stranded.ts'
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
  /** Its time if absent. */
  readonly updatedAt: number | undefined
  readonly base?: Share | undefined
}

/** A page ends after so much text, however few entries that is: a reader that is stuck holds one. */
const pageChars = 256 * 1024

/** A store on an open database, which is its own from here on. */
export function databaseStore(database: DatabaseSync, options: DatabaseStoreOptions): ThreadStore {
  const { path, busyMs, pollMs } = options
  const now = () => Math.round(options.now())
  const sql = prepareStatements(database)
  const line = commits(database, { path, busyMs })
  const { read, write, writeLater, close } = line
  const list = listing(database, { now, read })
  const callers = callerRows(sql)
  const findStranded = strandedFinder(sql)
  const watching = watchers()
  const others = changes(sql, { pollMs, onChange: (id, head) => watching.tell([id], head) })
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

  /** Counts it for its caller, if that has room. Gives its number; undefined if there is a thread of that id. */
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
    others.wrote()
    return n
  }

  /** Gives the length of its text. */
  function addEntry(n: number, { seq, at, event }: Entry): number {
    const text = JSON.stringify(event)
    sql.addEntry.run(n, seq, at, text, crc32(text))
    return byteLength(text)
  }

  function setLabel(n: number, { title, search }: ThreadLabel): void {
    sql.setTitle.run(optional(title), n)
    sql.setSearch.run(n, search)
  }

  /** Messages of a thread wait no more: gives how many. */
  function takeQueued(n: number, heard: number): number {
    if (heard === 0) return 0
    const { queued } = sql.queuedOf.get(n) as { queued: number }
    const taken = Math.min(heard, queued)
    sql.setQueued.run(queued - taken, n)
    return taken
  }

  /** For other processes to hear of what leaves no entry. */
  function leaveNotice(threadId: string): void {
    const place = nextPlace()
    sql.addNotice.run(place, toColumn(threadId))
    sql.forgetNotices.run(place)
    others.wrote()
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

  /** Where the entries of a thread after a number are, in their order. */
  function sharesAfter(op: string, threadId: string, after: number): Share[] {
    const shares = sql.sharesAfter.all({ id: toColumn(threadId), after }) as unknown as Share[]
    if (shares.length === 0) throw threadNotFound(op, threadId)
    return shares.reverse()
  }

  /** One page of a log. */
  function* rowsAfter({ after, limit }: { after: number; limit: number }, origin: Origin) {
    const shares = sharesAfter(origin.op, origin.threadId, after)
    let chars = 0
    for (const share of shares)
      for (const found of sql.readShare.iterate({ thread: share.thread, after, limit })) {
        const row = found as unknown as EntryRow
        if ((row.first ?? row.seq) > share.upTo) break
        yield row.seq > share.upTo ? { ...row, upTo: share.upTo } : row
        chars += row.event.length
        if (chars >= pageChars) return
      }
    if (chars === 0 && (shares.at(-1) as Share).upTo > after) throw gap(after + 1, origin)
  }

  return {
    async create(thread, { entries = [], quotas } = {}) {
      const op = 'store.create'
      const problem = logProblem(entries)
      if (problem) throw badLog(op, problem)
      const rows = entries.map(packedColumns)
      const bytes = rows.reduce((sum, row) => sum + row.bytes, bytesOfThread(thread.metadata))
      const made = await write(op, () => {
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
      if (made) watching.tell([thread.id])
      return made
    },

    async fork(threadId, at, thread, { events = [], waiting = 0, quotas } = {}) {
      const op = 'store.fork'
      const made = await write(op, () => {
        const source = threadRow(threadId)
        if (!source) throw threadNotFound(op, threadId)
        const { head } = source
        if (at > head) throw badFork(op, threadId, { at, head })
        const [last] = at > 0 ? readFrom(op, threadId, { after: at - 1, limit: 1, split: true }) : []
        // The one that has the entry itself, so that it does not depend on others in between.
        const [owner] = sharesAfter(op, threadId, at - 1)
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
      if (made) watching.tell([thread.id])
      return made
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
        // First: its own place must not be given out again.
        leaveNotice(threadId)
        sweep.hide(row)
        return true
      })
      if (existed) {
        watching.tell([threadId])
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
          const heard = takeQueued(n, sumOf(events, heardBy))
          if (caller !== null) total.add(caller, { bytes, waiting: -heard, tokens: sumOf(events, tokensOf) })
          return entries
        })
        total.write(at)
        others.wrote()
        return results
      })
      for (const [index, { lease }] of batches.entries()) {
        const entries = written[index]
        const last = Array.isArray(entries) ? (entries.at(-1) as Entry | undefined) : undefined
        if (last) watching.tell([lease.threadId], last.seq)
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
        others.wrote()
        return { entry, repeated: false }
      })
      if (!result.repeated) watching.tell([threadId], result.entry.seq)
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
        // While something runs here, changes by others are looked for often.
        if (leases.length > 0) others.wrote()
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
        if (runnable) leaveNotice(lease.threadId)
        return 'released'
      })
      if (runnable && result === 'released') watching.tell([lease.threadId])
      return result
    },

    stranded: (limit, agents, runs = Infinity) =>
      read('store.stranded', () => findStranded(limit, { agents, runs, time: now() })),

    usage: (caller) => read('store.usage', () => callers.usageByName(caller, now())),

    ...snapshots(database, sql, line),

    async compact(threadId, upTo) {
      const op = 'store.compact'
      const origin = { op, path, threadId }
      const slice = () => compactSlice({ statements: sql, callers, time: now() }, upTo, origin)
      while (await writeLater(op, slice)) {}
    },

    watch(listener) {
      if (closing) return () => {}
      const end = watching.add(listener)
      others.start()
      return () => {
        end()
        if (watching.count === 0) others.stop()
      }
    },

    close() {
      closing ??= closeAll()
      return closing
    },
  }

  async function closeAll() {
    others.stop()
    watching.clear()
    await close()
    try {
      database.close()
    } catch (error) {
      throw failure(error, { op: 'store.close', path })
    }
  }
}
