import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { storeClosed } from 'millrace/internal'
import pg from 'pg'
import { failure, isTemporary, isUnprepared, placeOf } from './failure.ts'

/** Runs one statement and returns its rows. */
export type Query = <Row>(text: string, values: readonly unknown[]) => Promise<Row[]>

/** The pool of connections of a store. Its statements take the schema's name from `quoted`. */
export interface Database {
  readonly schema: string
  readonly quoted: string
  readonly place: string
  /** What to do if something is wrong with the data. */
  readonly damaged: (what: string) => string
  /**
   * Runs a statement. If the connection fails, runs it again on another one: it may then run twice,
   * so it must be one that can be repeated.
   */
  query<Row>(op: string, text: string, values: readonly unknown[]): Promise<Row[]>
  /**
   * Runs statements in a transaction, which is repeated as a whole if the connection fails.
   * `commit` sends its last statement and the commit in one round trip; without it, the transaction
   * is committed when `work` resolves.
   */
  transaction<Value>(op: string, work: (query: Query, commit: Query) => Promise<Value>): Promise<Value>
  /** Resolves when the tables are up to date. */
  ready(op: string): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly url: string
  readonly schema: string
  readonly connections: number
  /** How long a statement may take. */
  readonly timeoutMs: number
  /** How long to try again while the server cannot be reached. */
  readonly retryMs: number
  /** Brings the tables up to date, before anything else. */
  readonly migrate: (database: Database) => Promise<void>
}

/** How long to wait before each attempt; the last one is repeated. */
const retryDelays = [10, 25, 50, 100, 200]

export function openDatabase(options: DatabaseOptions): Database {
  const { schema, url, timeoutMs, retryMs, connections, migrate } = options
  const quoted = `"${schema.replaceAll('"', '""')}"`
  const place = placeOf(url)
  const pool = new pg.Pool({
    ...connectionOptions(url),
    max: connections,
    query_timeout: timeoutMs,
    connectionTimeoutMillis: Math.min(timeoutMs, 5000),
    pipeline: true,
  })
  // A connection that fails is replaced. While it is used, its query fails too.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const names = new Map<string, string>()
  /** Resolve when there is a free connection. */
  const waiting: (() => void)[] = []
  let used = 0
  let isPrepared = true
  let closing: Promise<void> | undefined
  let preparing: Promise<void> | undefined

  function request(text: string, values: readonly unknown[]) {
    if (values.length === 0 || !isPrepared) return { text, values: [...values] }
    return { name: nameOf(text), text, values: [...values] }
  }

  function nameOf(text: string): string {
    let name = names.get(text)
    if (!name) {
      name = `millrace_${createHash('sha1').update(text).digest('hex').slice(0, 16)}`
      names.set(text, name)
    }
    return name
  }

  async function attempt<Value>(work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    // Otherwise the pool's time limit for connecting would include waiting for others.
    if (used >= connections) await new Promise<void>((resolve) => waiting.push(resolve))
    else used++
    try {
      return await withClient(work)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else used--
    }
  }

  async function withClient<Value>(work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const client = await pool.connect()
    let broken = false
    try {
      return await work(client)
    } catch (error) {
      broken = isTemporary(error)
      throw error
    } finally {
      client.release(broken)
    }
  }

  async function repeatedly<Value>(op: string, work: (client: pg.PoolClient) => Promise<Value>) {
    const until = performance.now() + retryMs
    for (let attempts = 0; ; attempts++) {
      if (closing) throw storeClosed(op)
      try {
        return await attempt(work)
      } catch (error) {
        if (closing) throw storeClosed(op)
        // Behind a proxy that shares connections, statements cannot be prepared.
        if (isUnprepared(error)) isPrepared = false
        else if (!isTemporary(error) || performance.now() > until) throw failure(error, { op, place, schema })
        await delay(retryDelays[Math.min(attempts, retryDelays.length - 1)])
      }
    }
  }

  async function inTransaction<Value>(
    client: pg.PoolClient,
    work: (query: Query, commit: Query) => Promise<Value>,
  ): Promise<Value> {
    let isCommitted = false
    // Sent together with what follows. If it fails, so does that.
    client.query('BEGIN').catch(() => {})
    const query: Query = async (text, values) => (await client.query(request(text, values))).rows
    const commit: Query = async (text, values) => {
      isCommitted = true
      const last = client.query(request(text, values))
      const committed = client.query('COMMIT')
      committed.catch(() => {})
      const { rows } = await last
      await committed
      return rows
    }
    try {
      const value = await work(query, commit)
      if (!isCommitted) await client.query('COMMIT')
      return value
    } catch (error) {
      if (!isTemporary(error)) await client.query('ROLLBACK')
      throw error
    }
  }

  const database: Database = {
    schema,
    quoted,
    place,
    damaged: (what) => `the data in PostgreSQL at ${place} is damaged (${what}): restore it from a backup`,
    query: (op, text, values) =>
      repeatedly(op, async (client) => (await client.query(request(text, values))).rows),
    transaction: (op, work) => repeatedly(op, (client) => inTransaction(client, work)),
    async ready(op) {
      if (closing) throw storeClosed(op)
      preparing ??= migrate(database).catch((error) => {
        preparing = undefined
        throw error
      })
      await preparing
    },
    close() {
      closing ??= pool.end()
      return closing
    },
  }
  return database
}

export function connectionOptions(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'millrace',
    keepAlive: true,
    types: { getTypeParser: (type: number, format?: 'text' | 'binary') => parserOf(type, format) },
  } as pg.ClientConfig
}

/** Numbers of 64 bits, and sums of them. All of ours are exact as numbers. */
const wide = new Set<number>([pg.types.builtins.INT8, pg.types.builtins.NUMERIC])

function parserOf(type: number, format?: 'text' | 'binary') {
  return wide.has(type) ? Number : pg.types.getTypeParser(type, format as 'text')
}
