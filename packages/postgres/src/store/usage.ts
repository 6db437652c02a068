import { toColumn } from 'millrace/internal'
import type { CallerUsage, SharedRate, ThreadStore } from 'millrace/store'
import type { Database, Query } from './database.ts'
import type { Sql } from './sql.ts'

/**
 * Reads what a caller uses, by its row number, within a transaction, after all who have read it
 * before are done.
 */
export type ReadUsage = (query: Query, caller: number) => Promise<CallerUsage>

interface UsageRow {
  readonly runs: number
  readonly waiting: number
  readonly bytes: number
  readonly minute_bytes: number
  readonly minute_tokens: number
}

export function callerUsage({
  database,
  sql,
  now,
}: {
  database: Database
  sql: Sql
  now: () => number | null
}) {
  const { table, time, expired, lock } = sql
  const usageText = (caller: string) => `
    WITH ${time}
    SELECT coalesce(sum(runs), 0) AS runs, coalesce(sum(waiting), 0) AS waiting, coalesce(sum(bytes), 0) AS bytes,
      coalesce(sum(minute_bytes) FILTER (WHERE minute = ms / 60000), 0) AS minute_bytes,
      coalesce(sum(minute_tokens) FILTER (WHERE minute = ms / 60000), 0) AS minute_tokens
    FROM now, (
      SELECT 0 AS runs, waiting, bytes, minute, minute_bytes, minute_tokens
      FROM ${table('usage')} WHERE caller = ${caller}
      UNION ALL
      SELECT CASE WHEN ${expired} THEN 0 ELSE 1 END, run_waiting, run_bytes, run_minute, run_minute_bytes, run_minute_tokens
      FROM ${table('heads')} AS h, now WHERE owner IS NOT NULL AND caller = ${caller}
    ) AS parts`
  const byNumber = usageText('$2::bigint')
  const byName = usageText(`(SELECT n FROM ${table('callers')} WHERE name = $2::text)`)
  const lockCaller = `SELECT ${lock("'caller ' || $1::text")}`
  /** GCRA: `free_at` is when everything that was reserved will have become available. */
  const reserveText = `
    WITH ${time}
    INSERT INTO ${table('rates')} AS r (name, free_at) SELECT $2, ms + $3 * $4::float8 FROM now
    ON CONFLICT (name) DO UPDATE SET free_at = greatest(r.free_at, excluded.free_at - $3 * $4::float8) + $3 * $4::float8
    RETURNING greatest(0, free_at - $5 * $4::float8 - (SELECT ms FROM now)) AS wait`

  const waitText = `
    WITH ${time}
    SELECT greatest(0, greatest(free_at, ms) + $3 * $4::float8 - $5 * $4::float8 - ms) AS wait
    FROM ${table('rates')}, now WHERE name = $2`

  const usageOf = (row: UsageRow | undefined): CallerUsage => ({
    runs: row?.runs ?? 0,
    waiting: row?.waiting ?? 0,
    storedBytes: row?.bytes ?? 0,
    bytesThisMinute: row?.minute_bytes ?? 0,
    tokensThisMinute: row?.minute_tokens ?? 0,
  })

  const readUsage: ReadUsage = async (query, caller) => {
    const [, [row]] = await Promise.all([
      query(lockCaller, [caller]),
      query<UsageRow>(byNumber, [now(), caller]),
    ])
    return usageOf(row)
  }

  return {
    readUsage,
    store: {
      async usage(caller) {
        const op = 'store.usage'
        await database.ready(op)
        const [row] = await database.query<UsageRow>(op, byName, [now(), toColumn(caller)])
        return usageOf(row)
      },
      async reserve({ name, perMinute, burst }: SharedRate, amount: number) {
        const op = 'store.reserve'
        await database.ready(op)
        const values = [now(), toColumn(name), amount, 60_000 / perMinute, burst]
        const text = amount === 0 ? waitText : reserveText
        const [row] = await database.query<{ wait: number }>(op, text, values)
        return row?.wait ?? 0
      },
    } satisfies Partial<ThreadStore>,
  }
}
