import { randomUUID } from 'node:crypto'
import {
  badFork,
  badLog,
  bytesOfThread,
  checkQuotas,
  fromColumn,
  logProblem,
  optional,
  priorityOf,
  sharedBytes,
  sumOf,
  threadNotFound,
  toColumn,
  waitingIn,
} from 'millrace/internal'
import type { NewThread, Quotas, ThreadStore } from 'millrace/store'
import type { Query } from './database.ts'
import { isDuplicate } from './failure.ts'
import type { StoreParts } from './parts.ts'
import type { ReadOne } from './reads.ts'
import type { ThreadRow } from './rows.ts'
import { infoOf, packedColumns, threadColumns } from './rows.ts'

interface Addition {
  readonly token: string
  readonly bytes: number
  readonly queued: number
  readonly head: number
  readonly entries: readonly ReturnType<typeof packedColumns>[]
  readonly keys?: ReadonlyMap<string, number> | undefined
  readonly quotas: Quotas | undefined
  readonly createdAt?: number | undefined
  /** Now if absent. */
  readonly updatedAt: number | undefined
  readonly base?: { readonly holder: number; readonly at: number } | undefined
}

/** How many entries, or how much text, one statement inserts. */
const sliceLength = 1000
const sliceBytes = 1024 * 1024

/** Creating, reading and deleting threads. */
export function threads({ readOne, ...parts }: StoreParts & { readonly readOne: ReadOne }) {
  const { database, sql, now, changes, readUsage, sweep } = parts
  const { table, time, nextPlace, count, ofMinute, addEntries } = sql

  const columns = threadColumns(sql)
  const findExisting = `
    SELECT t.token, (SELECT n FROM ${table('callers')} WHERE name = $2) AS caller
    FROM (SELECT) AS one LEFT JOIN ${table('heads')} AS h ON h.id = $1 LEFT JOIN ${table('threads')} AS t ON t.n = h.n`
  const addCaller = `INSERT INTO ${table('callers')} (name) VALUES ($1) ON CONFLICT DO NOTHING`
  const findCaller = `SELECT n FROM ${table('callers')} WHERE name = $1`
  const addThread = `
    WITH ${time}, place AS (SELECT ${nextPlace} AS p),
    added AS (
      INSERT INTO ${table('threads')}
        (token, forked_id, forked_seq, created_at, title, search, metadata, base, base_seq, compacted)
      SELECT $3, $4, $5::integer, coalesce($6::bigint, ms), $7, $8, $9, $10::bigint, $11::integer, $11::integer FROM now
      RETURNING n
    ),
    head AS (
      INSERT INTO ${table('heads')}
        (id, n, agent, "user", caller, background, base_seq, head, updated_at, changed_at, bytes, queued, changed, listed, due, epoch)
      SELECT $2, n, $12, $13, $14::bigint, $15, $11::integer, $16::integer, coalesce($17::bigint, $6::bigint, ms), ms, $18::bigint, $19::integer, p, p,
        CASE WHEN $16::integer > 0 THEN ms END, floor(random() * 1e12)::bigint
      FROM added, now, place
    ),
    counted AS (${count(`
      SELECT $14::bigint AS caller, $18::bigint AS bytes, $19::integer AS waiting, $18::bigint AS minute_bytes, 0 AS minute_tokens`)})
    SELECT n FROM added`
  const addEntryRows = addEntries(`
    SELECT $1::bigint AS thread, * FROM unnest($2::integer[], $3::integer[], $4::bigint[], $5::text[], $6::text[])
      AS e (seq, first, at, event, cuts)`)
  const addKeys = `INSERT INTO ${table('signals')} (thread, key, seq) SELECT $1, * FROM unnest($2::text[], $3::integer[])`
  const lockSource = `SELECT head, bytes FROM ${table('heads')} WHERE id = $1 FOR KEY SHARE`
  const getText = `
    WITH ${time}
    SELECT ${columns}, h.bytes, c.name AS caller
    FROM now, ${table('heads')} AS h JOIN ${table('threads')} AS t ON t.n = h.n
      LEFT JOIN ${table('callers')} AS c ON c.n = h.caller WHERE h.id = $2`
  const findThread = `SELECT n FROM ${table('heads')} WHERE id = $1`
  const deleteText = `
    WITH ${time},
    gone AS (DELETE FROM ${table('heads')} WHERE id = $2 AND n = $3 RETURNING *),
    marked AS (UPDATE ${table('threads')} AS t SET removal = 1 FROM gone WHERE t.n = gone.n),
    freed AS (DELETE FROM ${table('holds')} AS o USING gone WHERE o.thread = gone.n),
    counted AS (${count(`
      SELECT caller, run_bytes - bytes AS bytes, run_waiting - queued AS waiting, ${ofMinute} FROM gone, now`)})
    SELECT`
  /**
   * In the order of changes, so the first one that is too new ends it. Expired leases are left to
   * those who take over.
   */
  const unchangedText = `
    WITH ${time},
    oldest AS (
      SELECT id, due, changed_at <= ms - $2::bigint AS old, listed
      FROM now, ${table('heads')} WHERE owner IS NULL ORDER BY listed LIMIT $3::integer
    )
    SELECT id, due, old FROM oldest ORDER BY listed`

  /** Adds a thread if the quotas allow. Returns false if the id is taken by another call. */
  async function add(op: string, thread: NewThread, query: Query, commit: Query, added: Addition) {
    const { agent, user, caller: name = user, metadata, forkedFrom, label } = thread
    const { quotas, base, entries, keys } = added
    const id = toColumn(thread.id)
    const [existing] = await query<{ token: string | null; caller: number | null }>(findExisting, [
      id,
      optional(name),
    ])
    if (existing?.token) return existing.token === added.token
    let caller = existing?.caller ?? 0
    if (name !== undefined && caller === 0) {
      const [, [found]] = await Promise.all([
        query(addCaller, [toColumn(name)]),
        query<{ n: number }>(findCaller, [toColumn(name)]),
      ])
      caller = found?.n as number
    }
    if (name !== undefined && quotas)
      checkQuotas(await readUsage(query, caller), quotas, ['storedBytes', 'bytesPerMinute'], {
        op,
        time: now() ?? Date.now(),
      })
    const values = [
      ...[now(), id, added.token, optional(forkedFrom?.id), forkedFrom?.seq ?? null, added.createdAt ?? null],
      ...[optional(label?.title), label?.search ?? '', metadata ? JSON.stringify(metadata) : null],
      ...[base?.holder ?? null, base?.at ?? 0, toColumn(agent), optional(user), caller],
      ...[thread.priority === 'batch', added.head, added.updatedAt ?? null, added.bytes, added.queued],
    ]
    const hasRows = entries.length > 0 || (keys?.size ?? 0) > 0
    const [row] = await (hasRows ? query : commit)<{ n: number }>(addThread, values)
    const { n } = row as { n: number }
    for (const slice of slicesOf(entries))
      await query(addEntryRows, [
        n,
        slice.map(({ seq }) => seq),
        slice.map(({ first }) => first),
        slice.map(({ at }) => at),
        slice.map(({ event }) => event),
        slice.map(({ cuts }) => cuts),
      ])
    if (keys?.size) await query(addKeys, [n, [...keys.keys()].map(toColumn), [...keys.values()]])
    return true
  }

  /** Repeats after another call has created a thread with this id at the same time. */
  async function created(op: string, work: (query: Query, commit: Query) => Promise<boolean>) {
    await database.ready(op)
    try {
      return await database.transaction(op, work)
    } catch (error) {
      if (!(error instanceof Error && isDuplicate(error.cause))) throw error
      return database.transaction(op, work)
    }
  }

  function notifyCreated(threadId: string, head: number) {
    changes.other(threadId)
    if (head > 0) changes.runnable()
  }

  return {
    async create(thread, { entries = [], keys, createdAt, quotas } = {}) {
      const op = 'store.create'
      const problem = logProblem(entries, keys)
      if (problem) throw badLog(op, problem)
      const rows = entries.map(packedColumns)
      const token = randomUUID()
      const last = entries.at(-1)
      const isNew = await created(op, (query, commit) =>
        add(op, thread, query, commit, {
          token,
          bytes: bytesOfThread(thread.metadata) + sumOf(rows, ({ bytes }) => bytes),
          queued: waitingIn(entries),
          head: last?.seq ?? 0,
          entries: rows,
          keys,
          quotas,
          createdAt,
          updatedAt: last?.at,
        }),
      )
      if (isNew) notifyCreated(thread.id, entries.length)
      return isNew
    },

    async fork(threadId, at, thread, { events = [], waiting = 0, quotas } = {}) {
      const op = 'store.fork'
      const token = randomUUID()
      const isNew = await created(op, async (query, commit) => {
        const [source] = await query<{ head: number; bytes: number }>(lockSource, [toColumn(threadId)])
        if (!source) throw threadNotFound(op, threadId)
        const { head, bytes } = source
        if (at > head) throw badFork(op, threadId, { at, head })
        // The thread that holds the entry itself, so that the fork does not depend on others in
        // between.
        const last = at > 0 ? await readOne(query, op, threadId, at) : undefined
        const time = last?.entry.at ?? now() ?? Date.now()
        const entries = events.map((event, index) => packedColumns({ seq: at + 1 + index, at: time, event }))
        return add(op, thread, query, commit, {
          token,
          bytes:
            bytesOfThread(thread.metadata) +
            sharedBytes(bytes, { at, head }) +
            sumOf(entries, (entry) => entry.bytes),
          queued: waiting,
          head: at + events.length,
          entries,
          quotas,
          updatedAt: last?.entry.at,
          base: last && { holder: last.holder, at },
        })
      })
      if (isNew) notifyCreated(thread.id, at + events.length)
      return isNew
    },

    async get(threadId) {
      const op = 'store.get'
      await database.ready(op)
      const [row] = await database.query<ThreadRow & { bytes: number; caller: string | null }>(op, getText, [
        now(),
        toColumn(threadId),
      ])
      if (!row) return undefined
      const { bytes, caller } = row
      return {
        ...infoOf(row),
        bytes,
        priority: priorityOf(row),
        ...(caller !== null && { caller: fromColumn(caller) }),
      }
    },

    async delete(threadId) {
      const op = 'store.delete'
      await database.ready(op)
      const id = toColumn(threadId)
      // Looked up first, so that a repetition deletes no other thread, and still returns true.
      const [found] = await database.query<{ n: number }>(op, findThread, [id])
      if (!found) return false
      await database.query(op, deleteText, [now(), id, found.n])
      changes.other(threadId)
      sweep()
      return true
    },

    async findUnchanged(forMs, limit) {
      const op = 'store.findUnchanged'
      await database.ready(op)
      for (let length = limit; ; length *= 4) {
        const rows = await database.query<{ id: string; due: number | null; old: boolean }>(
          op,
          unchangedText,
          [now(), forMs, length],
        )
        const end = rows.findIndex(({ old }) => !old)
        const found = rows.slice(0, end < 0 ? rows.length : end).filter(({ due }) => due === null)
        // Threads that cannot run at the moment may be in front of those that rest.
        if (end >= 0 || rows.length < length || found.length >= limit)
          return found.slice(0, limit).map(({ id }) => fromColumn(id))
      }
    },
  } satisfies Partial<ThreadStore>
}

/** Entries in slices that one statement can take. */
function* slicesOf<Row extends { readonly bytes: number }>(rows: readonly Row[]): Generator<Row[]> {
  let slice: Row[] = []
  let bytes = 0
  for (const row of rows) {
    slice.push(row)
    bytes += row.bytes
    if (slice.length < sliceLength && bytes < sliceBytes) continue
    yield slice
    slice = []
    bytes = 0
  }
  if (slice.length > 0) yield slice
}
