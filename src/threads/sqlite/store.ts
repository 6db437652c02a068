import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Entry } from '../../protocol/index.ts'
import { logProblem, readEntries } from '../entries.ts'
import { searchText } from '../search.ts'
import type { Lease, NewThread, Quotas, ThreadStore } from '../store.ts'
import { badFork, badLog, threadNotFound } from '../store-errors.ts'
import { titleOf } from '../title.ts'
import {
  byteLength,
  bytesOfThread,
  checkQuotas,
  heardBy,
  inputQuotas,
  isWaitingInput,
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
import type { Copy, Fork } from './fork.ts'
import { beginCopy, copySlice, lastOfCopy, removed } from './fork.ts'
import { listing } from './list.ts'
import type { EntryRow, Origin, ThreadRow } from './rows.ts'
import { entriesOf, fromColumn, gap, infoOf, optional, packedColumns, toColumn } from './rows.ts'
import { snapshots } from './snapshots.ts'
import { prepareStatements } from './statements.ts'
import { strandedFinder } from './stranded.ts'
import type { Sweeper } from './sweep.ts'
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
  readonly untitled: 0 | 1
  readonly caller: number | null
}

type HiddenRow = Parameters<Sweeper['hide']>[0]

interface NewRow {
  readonly id: string
  readonly place: number
  readonly time: number
  readonly bytes: number
  readonly quotas?: Quotas
  readonly title?: string | undefined
  readonly queued?: number
  readonly updatedAt?: number
  readonly head?: number
  readonly due?: number
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
  sweep.open()

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

  /** Counts it for its caller, if that has room. */
  function addThread(
    op: string,
    thread: NewThread,
    row: NewRow,
  ): { readonly n: number; readonly caller: number | null } {
    const { agent, user, caller: name = user, metadata, forkedFrom } = thread
    const { time, quotas, bytes, queued = 0 } = row
    if (name !== undefined && quotas)
      checkQuotas(callers.usageByName(name, time), quotas, ['storedBytes', 'bytesPerMinute'], { op, time })
    const caller = name === undefined ? null : callers.numberOf(name, time)
    const { lastInsertRowid } = sql.addThread.run(
      row.id,
      toColumn(agent),
      optional(user),
      metadata ? JSON.stringify(metadata) : null,
      optional(forkedFrom?.id),
      forkedFrom?.seq ?? null,
      time,
      row.updatedAt ?? time,
      row.head ?? 0,
      row.place,
      row.due ?? null,
      Math.floor(Math.random() * 2 ** 40),
      optional(row.title),
      caller,
      bytes,
      queued,
    )
    callers.count(caller, { bytes, waiting: queued }, time)
    return { n: Number(lastInsertRowid), caller }
  }

  function startFork({ thread, at, quotas, origin }: Fork): Copy | undefined {
    const { op, threadId } = origin
    const source = headOf(op, threadId)
    if (at > source.head) throw badFork(op, threadId, { at, head: source.head })
    if (sql.headOf.get(toColumn(thread.id))) return undefined
    const id = `"fork:${crypto.randomUUID()}`
    const { n } = sql.nextThread.get() as { n: number }
    const row = { id, place: -n, time: now(), bytes: bytesOfThread(thread.metadata) }
    return beginCopy({
      ...addThread(op, thread, { ...row, ...(quotas && { quotas }) }),
      id,
      source: source.n,
    })
  }

  /** False if there is a thread of its id by now. */
  function endFork({ thread, origin }: Fork, copy: Copy): boolean {
    const { n, source, caller, copied, log } = copy
    if (sql.headOf.get(toColumn(thread.id))) {
      hideCopy(copy)
      return false
    }
    if (!sql.headOf.get(copy.id)) throw removed(origin.op)
    const time = now()
    const { end, head, queued } = lastOfCopy(copy)
    const bytes = end ? addEntry(n, end) : 0
    sql.showCopy.run(
      toColumn(thread.id),
      nextPlace(),
      head,
      head > 0 ? copy.lastAt : time,
      head > 0 ? time : null,
      optional(log.title),
      bytes,
      queued,
      copied,
      source,
      n,
    )
    sql.setSearch.run(n, searchText({ ...thread, title: log.title }))
    callers.count(caller, { bytes, waiting: queued }, time)
    others.wrote()
    return true
  }

  /** Unless another process took it for abandoned. */
  function hideCopy({ id }: Copy): void {
    const row = sql.getThread.get(id) as unknown as HiddenRow | undefined
    if (row) sweep.hide(row)
  }

  /** Gives the length of its text. */
  function addEntry(n: number, { seq, at, event }: Entry): number {
    const text = JSON.stringify(event)
    sql.addEntry.run(n, seq, at, text, crc32(text))
    return byteLength(text)
  }

  /** Calls a thread that has no title yet after what was said in these entries, if anything. */
  function name(n: number, threadId: string, entries: readonly Entry[]): void {
    const title = titleOf(entries)
    if (title === undefined) return
    sql.setTitle.run(toColumn(title), n)
    sql.setSearch.run(n, searchText(infoOf(threadRow(threadId) as ThreadRow, 0)))
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
    return readEntries(entriesOf(rowsAfter(options, origin), options.after, origin), options)
  }

  /** One page of a log. */
  function* rowsAfter({ after, limit }: { after: number; limit: number }, origin: Origin) {
    let isThere = false
    let chars = 0
    for (const found of sql.read.iterate(after, toColumn(origin.threadId), limit)) {
      const row = found as unknown as EntryRow & { seq: number | null; head: number }
      isThere = true
      if (row.seq === null) {
        if (row.head > after) throw gap(after + 1, origin)
        return
      }
      yield row as EntryRow
      chars += row.event.length
      if (chars >= pageChars) return
    }
    if (!isThere) throw threadNotFound(origin.op, origin.threadId)
  }

  return {
    async create(thread, { entries = [], quotas } = {}) {
      const op = 'store.create'
      const { id, agent, metadata } = thread
      const problem = logProblem(entries)
      if (problem) throw badLog(op, problem)
      const rows = entries.map(packedColumns)
      const bytes = rows.reduce((sum, row) => sum + row.bytes, bytesOfThread(metadata))
      const made = await write(op, () => {
        if (sql.headOf.get(toColumn(id))) return false
        const time = now()
        const last = entries.at(-1)
        const title = titleOf(entries)
        const row = addThread(op, thread, {
          ...(quotas && { quotas }),
          id: toColumn(id),
          place: nextPlace(),
          time,
          bytes,
          title,
          queued: waitingIn(entries),
          ...(last && { updatedAt: last.at, head: last.seq, due: time }),
        })
        sql.setSearch.run(row.n, searchText({ id, agent, title, metadata }))
        for (const { columns } of rows) sql.addPacked.run(row.n, ...columns)
        others.wrote()
        return true
      })
      if (made) watching.tell([id])
      return made
    },

    async fork(threadId, at, thread, quotas) {
      const op = 'store.fork'
      const fork: Fork = { thread, at, quotas, origin: { op, path, threadId } }
      let copy = await write(op, () => startFork(fork))
      if (!copy) return false
      try {
        while (copy.copied < at) {
          const before: Copy = copy
          copy = await writeLater(op, () =>
            copySlice({ statements: sql, callers, time: now() }, fork, before),
          )
        }
        const made = await write(op, () => endFork(fork, copy as Copy))
        if (made) watching.tell([thread.id])
        else sweep.start()
        return made
      } catch (error) {
        await write(op, () => hideCopy(copy as Copy)).catch(() => {})
        sweep.start()
        throw error
      }
    },

    get: (threadId) =>
      read('store.get', () => {
        const row = threadRow(threadId)
        if (!row) return undefined
        const { bytes, caller_name: caller } = row
        return { ...infoOf(row, now()), bytes, ...(caller !== null && { caller: fromColumn(caller) }) }
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
          if (thread.untitled) name(n, lease.threadId, entries)
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

    async signal(threadId, key, event, quotas) {
      const op = 'store.signal'
      const result = await write(op, () => {
        const { n, head, untitled, caller } = headOf(op, threadId)
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
        if (untitled) name(n, threadId, [entry])
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

    ...snapshots(database, line),

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
    sweep.close()
    watching.clear()
    await close()
    try {
      database.close()
    } catch (error) {
      throw failure(error, { op: 'store.close', path })
    }
  }
}
