import type { DatabaseSync } from 'node:sqlite'
import { reserveAt } from '../rates.ts'
import type { RunLimits, SharedRate, ThreadStore } from '../store.ts'
import { threadNotFound } from '../store-errors.ts'
import { callerUsage } from './callers.ts'
import type { Reads } from './commits.ts'
import { runnableFinder } from './find-runnable.ts'
import { threadLister } from './list.ts'
import { entryReader } from './read-entries.ts'
import type { ThreadRow } from './rows.ts'
import { fromColumn, infoOf, priorityOf, toColumn } from './rows.ts'
import { snapshotReader } from './snapshots.ts'
import { spendingReader } from './spending.ts'
import type { ReadStatements } from './statements.ts'
import { readStatements } from './statements.ts'

export interface HeadRow {
  readonly n: number
  readonly head: number
  readonly caller: number | null
}

export interface SignaledRow extends HeadRow, Pick<ThreadRow, 'agent' | 'background' | 'owner'> {
  readonly untitled: 0 | 1
}

interface UnchangedRow extends Pick<ThreadRow, 'id' | 'due'> {
  readonly changed: number
}

export type ThreadReader = Pick<
  ThreadStore,
  | 'get'
  | 'list'
  | 'read'
  | 'heads'
  | 'findRunnable'
  | 'findUnchanged'
  | 'keys'
  | 'findKey'
  | 'usage'
  | 'spending'
  | 'snapshot'
  | 'snapshotPart'
> & {
  /** For how long to wait before using a rate, as far as it is known. */
  waitFor(rate: SharedRate): Promise<number>
  /** The last place ever used; undefined while the file is locked. */
  lastPlace(): number | undefined
  /** Whether a deleted thread has rows left. */
  hasHidden(): Promise<boolean>
}

export interface ReaderOptions {
  readonly path: string
  readonly now: () => number
  /** After how long a search returns a page that is not full. */
  readonly scanMs?: number | undefined
}

/** All reads of a store. */
export function threadReader(
  database: DatabaseSync,
  { read }: Pick<Reads, 'read'>,
  { path, now, scanMs }: ReaderOptions,
): ThreadReader {
  const sql = readStatements(database)
  const list = threadLister(database, { now, read, scanMs })
  const callers = callerUsage(sql)
  const findThreads = runnableFinder(sql)
  const { readFrom } = entryReader(sql, path)
  const agentsWithRoom = roomFinder(sql)

  return {
    get: (threadId) =>
      read('store.get', () => {
        const row = sql.getThread.get(toColumn(threadId)) as unknown as
          | (ThreadRow & { caller_name: string | null })
          | undefined
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
        const thread = sql.headOf.get(toColumn(threadId)) as unknown as HeadRow | undefined
        if (!thread) throw threadNotFound('store.keys', threadId)
        const { n } = thread
        const found = key === undefined ? sql.signalsOf.all(n) : sql.signalOf.all(n, toColumn(key))
        const rows = found as unknown as { key: string; seq: number }[]
        return new Map(rows.map(({ key, seq }) => [fromColumn(key), seq]))
      }),

    findKey: (key, limit) =>
      read('store.findKey', () => {
        const rows = sql.findKey.all(toColumn(key), limit) as unknown as { id: string; seq: number }[]
        return rows.map(({ id, seq }) => ({ threadId: fromColumn(id), seq }))
      }),

    usage: (caller) => read('store.usage', () => callers.usageByName(caller, now())),

    spending: spendingReader(database, { read }),

    ...snapshotReader(database, sql, { read }),

    waitFor: (rate) =>
      read('store.reserve', () => {
        const { freeAt = 0 } = (sql.rateOf.get(toColumn(rate.name)) ?? {}) as { freeAt?: number }
        return reserveAt(rate, 0, { freeAt, now: now() }).waitMs
      }),

    lastPlace() {
      try {
        return (sql.lastPlace.get() as { place: number }).place
      } catch {
        return undefined
      }
    },

    hasHidden: () => read('store.delete', () => sql.findHidden.get() !== undefined),
  }
}

/** Returns the function that finds the agents that may have more runs. */
export function roomFinder(sql: ReadStatements) {
  return (agents: readonly string[], { perAgent = {} }: RunLimits, time: number) =>
    agents.filter((agent) => {
      const limit = perAgent[agent]
      if (limit === undefined) return true
      const { runs } = sql.runsOfAgent.get({ agent: toColumn(agent), now: time }) as { runs: number }
      return runs < limit
    })
}
