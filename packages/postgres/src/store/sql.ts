import { PROTOCOL_VERSION } from 'millrace'

/** How many rows each caller has in `usage` at most. */
export const shards = 64

export const dayMs = 86_400_000

/**
 * The parts that statements share. `$1` is always the time, or null for the server's clock: leases
 * of all processes are compared by one clock.
 */
export interface Sql {
  /** The number of the rows that this process adds to, where several of them make up a sum. */
  readonly shard: number
  /** The name of a table. */
  readonly table: (name: string) => string
  /** A `WITH` item that provides `ms`, the time in milliseconds since 1970. */
  readonly time: string
  /** Whether the lease of a row of `heads` has expired. The table's alias is `h`. */
  readonly expired: string
  /** A number that grows with every change. */
  readonly nextPlace: string
  /**
   * Adds to what callers use: rows of `caller`, `bytes` and `waiting`, and `minute_bytes` and
   * `minute_tokens` of the current minute.
   */
  readonly count: (source: string) => string
  /**
   * Assignments that add to what a thread has used in this minute, in an update of `heads AS h` with
   * `now`.
   */
  readonly countMinute: (bytes: string, tokens: string) => string
  /** `minute_bytes` and `minute_tokens` of a row of `heads`, next to `now`. */
  readonly ofMinute: string
  /** Inserts entries: rows of `thread`, `seq`, `first`, `at`, `event` and `cuts`. */
  readonly addEntries: (source: string) => string
  /**
   * `WITH RECURSIVE` items that provide `segments`: the thread `$2`, then the threads that hold its
   * earlier entries, back to the one with the entry after a number; each with the last number to
   * read there.
   */
  readonly segments: (after: string) => string
  /** Takes the lock of what is counted, such as a caller's runs, until the end of the transaction. */
  readonly lock: (name: string) => string
}

export function sqlFor(quoted: string, shard: number): Sql {
  const table = (name: string) => `${quoted}.${name}`
  const minute = '(SELECT ms / 60000 FROM now)'
  return {
    shard,
    table,
    time: `now AS (SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS ms)`,
    expired: '(h.lease_until <= ms OR h.lease_until > ms + 2 * h.lease_ms)',
    nextPlace: `nextval('${quoted.replaceAll("'", "''")}.places')`,
    count: (source) => `
      INSERT INTO ${table('usage')} AS u (caller, shard, bytes, waiting, minute, minute_bytes, minute_tokens)
      SELECT caller, ${shard}, sum(bytes), sum(waiting), ms / 60000, sum(minute_bytes), sum(minute_tokens)
      FROM (${source}) AS changes, now WHERE caller <> 0 GROUP BY caller, ms ORDER BY caller
      ON CONFLICT (caller, shard) DO UPDATE SET
        bytes = u.bytes + excluded.bytes,
        waiting = u.waiting + excluded.waiting,
        minute_bytes = excluded.minute_bytes + CASE WHEN u.minute = excluded.minute THEN u.minute_bytes ELSE 0 END,
        minute_tokens = excluded.minute_tokens + CASE WHEN u.minute = excluded.minute THEN u.minute_tokens ELSE 0 END,
        minute = excluded.minute`,
    countMinute: (bytes, tokens) => `
      run_minute = ${minute}, run_minute_bytes = ${bytes} + CASE WHEN h.run_minute = ${minute} THEN h.run_minute_bytes ELSE 0 END,
      run_minute_tokens = ${tokens} + CASE WHEN h.run_minute = ${minute} THEN h.run_minute_tokens ELSE 0 END`,
    ofMinute: `
      CASE WHEN run_minute = ms / 60000 THEN run_minute_bytes ELSE 0 END AS minute_bytes,
      CASE WHEN run_minute = ms / 60000 THEN run_minute_tokens ELSE 0 END AS minute_tokens`,
    addEntries: (source) => `
      INSERT INTO ${table('entries')} (thread, seq, first, at, version, event, cuts)
      SELECT thread, seq, first, at, ${PROTOCOL_VERSION}, event, cuts FROM (${source}) AS added`,
    segments: (after) => `
      segments (n, up_to, base, base_seq, depth) AS (
        SELECT h.n, h.head, t.base, t.base_seq, 0
        FROM ${table('heads')} AS h JOIN ${table('threads')} AS t ON t.n = h.n WHERE h.id = $2
        UNION ALL
        SELECT t.n, s.base_seq, t.base, t.base_seq, s.depth + 1
        FROM segments AS s JOIN ${table('threads')} AS t ON t.n = s.base WHERE s.base_seq > ${after}
      )`,
    lock: (name) =>
      `pg_advisory_xact_lock(hashtextextended('${quoted.replaceAll("'", "''")} ' || ${name}, 0))`,
  }
}
