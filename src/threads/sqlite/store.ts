import type { DatabaseSync } from 'node:sqlite'
import type { Entry } from '../../protocol/index.ts'
import type { PackedEntry } from '../entries.ts'
import { logProblem, readEntries } from '../entries.ts'
import { searchText } from '../search.ts'
import type { Lease, ThreadStore } from '../store.ts'
import { badLog, threadNotFound } from '../store-errors.ts'
import { titleOf } from '../title.ts'
import { watchers } from '../watchers.ts'
import { changes } from './changes.ts'
import { commits } from './commits.ts'
import { compactSlice } from './compact.ts'
import { failure } from './failure.ts'
import { listing } from './list.ts'
import type { EntryRow, ThreadRow } from './rows.ts'
import { entriesOf, entryColumns, fromColumn, gap, infoOf, optional, toColumn } from './rows.ts'
import { prepareStatements } from './statements.ts'

export interface DatabaseStoreOptions {
  readonly path: string
  readonly now: () => number
  readonly busyMs: number
  readonly pollMs: number
}

/** A page ends after so much text, however few entries that is: a reader that is stuck holds one. */
const pageChars = 256 * 1024

/** A store on an open database, which is its own from here on. */
export function databaseStore(database: DatabaseSync, options: DatabaseStoreOptions): ThreadStore {
  const { path, busyMs, pollMs } = options
  const now = () => Math.round(options.now())
  const sql = prepareStatements(database)
  const { read, write, close } = commits(database, { path, busyMs })
  const list = listing(database, { now, read })
  const watching = watchers()
  const others = changes(sql, { pollMs, onChange: (id, head) => watching.tell([id], head) })
  let closing: Promise<void> | undefined

  function threadRow(threadId: string) {
    return sql.getThread.get(toColumn(threadId)) as unknown as (ThreadRow & { n: number }) | undefined
  }

  function headOf(op: string, threadId: string) {
    const row = sql.headOf.get(toColumn(threadId))
    if (!row) throw threadNotFound(op, threadId)
    return row as { readonly n: number; readonly head: number; readonly untitled: 0 | 1 }
  }

  function nextPlace(): number {
    return (sql.lastPlace.get() as { place: number }).place + 1
  }

  function leaseColumns({ threadId, epoch, owner }: Lease) {
    return [toColumn(threadId), epoch, toColumn(owner)] as const
  }

  function addEntry(thread: number, entry: PackedEntry): void {
    sql.addEntry.run(thread, ...entryColumns(entry))
  }

  /** Calls a thread that has no title yet after what was said in these entries, if anything. */
  function name(n: number, threadId: string, entries: readonly Entry[]): void {
    const title = titleOf(entries)
    if (title === undefined) return
    sql.setTitle.run(toColumn(title), n)
    sql.setSearch.run(n, searchText(infoOf(threadRow(threadId) as ThreadRow, 0)))
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
    const { after, limit } = options
    const rows: (EntryRow & { head: number })[] = []
    let chars = 0
    for (const found of sql.read.iterate(after, toColumn(threadId), limit)) {
      const row = found as unknown as (typeof rows)[number]
      rows.push(row)
      chars += row.event?.length ?? 0
      if (chars >= pageChars) break
    }
    const [first] = rows
    if (!first) throw threadNotFound(op, threadId)
    const origin = { op, path, threadId }
    if (first.seq !== null) return readEntries(entriesOf(rows, after, origin), options)
    if (first.head > after) throw gap(after + 1, origin)
    return []
  }

  return {
    async create(thread, entries = []) {
      const op = 'store.create'
      const { id, agent, user, metadata, forkedFrom } = thread
      const problem = logProblem(entries)
      if (problem) throw badLog(op, problem)
      const made = await write(op, () => {
        const at = now()
        const last = entries.at(-1)
        const place = nextPlace()
        const title = titleOf(entries)
        const { changes, lastInsertRowid } = sql.addThread.run(
          toColumn(id),
          toColumn(agent),
          optional(user),
          metadata ? JSON.stringify(metadata) : null,
          optional(forkedFrom?.id),
          forkedFrom?.seq ?? null,
          at,
          last?.at ?? at,
          last?.seq ?? 0,
          place,
          last ? at : null,
          Math.floor(Math.random() * 2 ** 40),
          optional(title),
        )
        if (changes === 0) return false
        sql.setSearch.run(lastInsertRowid, searchText({ id, agent, title, metadata }))
        for (const entry of entries) addEntry(Number(lastInsertRowid), entry)
        others.wrote()
        return true
      })
      if (made) watching.tell([id])
      return made
    },

    get: (threadId) =>
      read('store.get', () => {
        const row = threadRow(threadId)
        return row && infoOf(row, now())
      }),

    list,

    async delete(threadId) {
      const existed = await write('store.delete', () => {
        const row = threadRow(threadId)
        if (!row) return false
        // First: its own place must not be given out again.
        leaveNotice(threadId)
        sql.deleteEntries.run(row.n)
        sql.deleteSignals.run(row.n)
        sql.deleteSearch.run(row.n)
        sql.deleteThread.run(row.n)
        return true
      })
      if (existed) watching.tell([threadId])
      return existed
    },

    async append(batches) {
      const written = await write('store.append', () => {
        const at = now()
        let place = nextPlace()
        const results = batches.map(({ lease, events }) => {
          const columns = leaseColumns(lease)
          if (events.length === 0) return sql.ownsThread.get(...columns) ? [] : 'fenced'
          if (sql.growByLease.run(events.length, at, place, ...columns).changes === 0) return 'fenced'
          place++
          const { n, head, untitled } = headOf('store.append', lease.threadId)
          const first = head + 1 - events.length
          const entries = events.map((event, index): Entry => ({ seq: first + index, at, event }))
          for (const entry of entries) addEntry(n, entry)
          if (untitled) name(n, lease.threadId, entries)
          return entries
        })
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

    async signal(threadId, key, event) {
      const op = 'store.signal'
      const result = await write(op, () => {
        const { n, head, untitled } = headOf(op, threadId)
        const known = key === undefined ? undefined : sql.getSignal.get(n, toColumn(key))
        if (known) {
          const { seq } = known as { seq: number }
          const [entry] = readFrom(op, threadId, { after: seq - 1, limit: 1, split: true })
          return { entry: entry as Entry, repeated: true }
        }
        const at = now()
        const place = nextPlace()
        const entry: Entry = { seq: head + 1, at, event }
        sql.growBySignal.run(entry.seq, at, place, at, n)
        addEntry(n, entry)
        if (untitled) name(n, threadId, [entry])
        if (key !== undefined) sql.addSignal.run(n, toColumn(key), entry.seq)
        others.wrote()
        return { entry, repeated: false }
      })
      if (!result.repeated) watching.tell([threadId], result.entry.seq)
      return result
    },

    read: (threadId, options) => read('store.read', () => readFrom('store.read', threadId, options)),

    claim: (threadId, owner, leaseMs) =>
      write('store.claim', () => {
        const time = now()
        const claimed = sql.claim.get(toColumn(owner), Math.round(time + leaseMs), toColumn(threadId), time)
        if (!claimed) return undefined
        const { epoch, losses } = claimed as { epoch: number; losses: number }
        return { lease: { threadId, owner, epoch }, losses }
      }),

    renew: (leases, leaseMs) =>
      write('store.renew', () => {
        const due = Math.round(now() + leaseMs)
        return leases.filter((lease) => sql.renew.run(due, ...leaseColumns(lease)).changes === 0)
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

    stranded: (limit, agents) =>
      read('store.stranded', () =>
        sql.stranded
          .all(now(), JSON.stringify(agents.map(toColumn)), limit)
          .map(({ id }) => fromColumn(id as string)),
      ),

    async compact(threadId, upTo) {
      const op = 'store.compact'
      const origin = { op, path, threadId }
      let more = true
      while (more) more = await write(op, () => compactSlice(sql, upTo, origin))
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
