import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from './database.ts'
import type { Sql } from './sql.ts'

/** How many rows one transaction removes. */
const sliceLength = 2000
/** How often to look for what other processes have left. */
const intervalMs = 600_000

interface RemovedThread {
  readonly n: number
  readonly base: number | null
  /** The last number that a fork refers to; null if there is no fork. */
  readonly shared: number | null
}

/**
 * Removes deleted threads in slices. What a process leaves when it is killed, another one removes.
 * The part of a thread that forks share is kept until the last of them is removed.
 */
export function sweeper(database: Database, sql: Sql) {
  const { table, time } = sql
  const op = 'store.delete'
  const findText = `
    SELECT n, base, (SELECT max(base_seq) FROM ${table('threads')} AS forks WHERE forks.base = t.n) AS shared
    FROM ${table('threads')} AS t WHERE removal = 1 LIMIT 1 FOR UPDATE SKIP LOCKED`
  const slice = (name: string, key: string, where: string) => `
    DELETE FROM ${table(name)} WHERE thread = $1 AND ${key} IN (
      SELECT ${key} FROM ${table(name)} WHERE thread = $1 AND ${where} LIMIT ${sliceLength}) RETURNING 1`
  const entriesText = slice('entries', 'seq', 'coalesce(first, seq) > $2')
  const textsText = slice('texts', 'seq', 'seq > $2')
  const signalsText = slice('signals', 'key', 'true')
  const snapshotsText = slice('snapshots', 'name', 'true')
  const keepText = `UPDATE ${table('threads')} SET removal = 2 WHERE n = $1`
  const toolsText = `DELETE FROM ${table('tools')} WHERE thread = $1`
  const removeText = `DELETE FROM ${table('threads')} WHERE n = $1`
  const releaseText = `UPDATE ${table('threads')} SET removal = 1 WHERE n = $1 AND removal = 2`
  /** Merges rows of callers that have not been used for a while, and removes those without values. */
  const mergeText = `
    WITH ${time},
    old AS (
      DELETE FROM ${table('usage')} AS u USING now
      WHERE u.minute < ms / 60000 - 5 AND (u.shard <> 0 OR (u.bytes = 0 AND u.waiting = 0))
      RETURNING u.caller, u.bytes, u.waiting
    )
    INSERT INTO ${table('usage')} AS u (caller, shard, bytes, waiting, minute, minute_bytes, minute_tokens)
    SELECT caller, 0, sum(bytes), sum(waiting), 0, 0, 0 FROM old GROUP BY caller
    HAVING sum(bytes) <> 0 OR sum(waiting) <> 0 ORDER BY caller
    ON CONFLICT (caller, shard) DO UPDATE SET bytes = u.bytes + excluded.bytes, waiting = u.waiting + excluded.waiting`
  const closing = new AbortController()
  let sweeping: Promise<void> | undefined
  let again = false

  /** Returns false when nothing is left to remove. */
  const removeSlice = () =>
    database.transaction(op, async (query) => {
      const [thread] = await query<RemovedThread>(findText, [])
      if (!thread) return false
      const { n, base, shared } = thread
      if ((await query(entriesText, [n, shared ?? 0])).length > 0) return true
      if ((await query(textsText, [n, shared ?? 0])).length > 0) return true
      if ((await query(signalsText, [n])).length > 0) return true
      if (shared !== null) {
        await query(keepText, [n])
        return true
      }
      if ((await query(snapshotsText, [n])).length > 0) return true
      await query(toolsText, [n])
      await query(removeText, [n])
      if (base !== null) await query(releaseText, [base])
      return true
    })

  async function sweep() {
    do {
      again = false
      await database.ready(op)
      while (!closing.signal.aborted && (await removeSlice())) await delay(1, undefined, { ref: false })
    } while (again)
  }

  function start() {
    again = true
    // If it fails, another process continues, or this one at the next interval.
    sweeping ??= sweep()
      .catch(() => {})
      .finally(() => {
        sweeping = undefined
      })
  }

  const timer = setInterval(() => {
    start()
    database.query(op, mergeText, [null]).catch(() => {})
  }, intervalMs)
  timer.unref()

  return {
    start,
    async close() {
      closing.abort()
      clearInterval(timer)
      await sweeping
    },
  }
}
