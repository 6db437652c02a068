import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { postgresServer } from '../../../test/postgres-server.ts'

/** A PostgreSQL server of its own, with what it uses. */
export interface BenchPostgres {
  /** Runs `work` with the address of a new database, which is dropped afterwards. */
  withDatabase<Result>(work: (url: string) => Promise<Result>): Promise<Result>
  /** CPU time of all its processes so far; undefined where there is no `/proc`. */
  cpuMs(): number | undefined
  /** Bytes of its write-ahead log so far. */
  walBytes(): Promise<number>
}

/** Every commit waits for the disk, as by default. */
const settings = { shared_buffers: '256MB', max_wal_size: '4GB', synchronous_commit: 'on', fsync: 'on' }
/** `/proc` counts in hundredths of a second on every platform that Node supports. */
const tickMs = 10

export async function withPostgres<Result>(
  work: (server: BenchPostgres) => Promise<Result>,
): Promise<Result> {
  const server = await postgresServer(settings)
  try {
    const admin = new pg.Client(await server.database('postgres'))
    await admin.connect()
    const { rows } = await admin.query<{ data_directory: string }>('SHOW data_directory')
    const pid = Number.parseInt(
      readFileSync(join(rows[0]?.data_directory ?? '', 'postmaster.pid'), 'utf8'),
      10,
    )
    let databases = 0
    try {
      return await work({
        async withDatabase(use) {
          const name = `bench_${++databases}`
          const url = await server.database(name)
          try {
            return await use(url)
          } finally {
            await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
          }
        },
        cpuMs: () => cpuOf(pid),
        async walBytes() {
          const wal = await admin.query<{ bytes: string }>(
            `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes`,
          )
          return Number(wal.rows[0]?.bytes)
        },
      })
    } finally {
      await admin.end()
    }
  } finally {
    await server.close()
  }
}

/** Runs one statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** The CPU time of a process, its children, and the children that have exited. */
function cpuOf(pid: number): number | undefined {
  try {
    const own = statOf(pid)
    const children = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => childStat(Number(name), pid))
    const ticks = [own.exited, own.used, ...children.map(({ used }) => used)]
    return ticks.reduce((sum, one) => sum + one, 0) * tickMs
  } catch {
    return undefined
  }
}

/** Empty if it is not a child, or has exited in the meantime. */
function childStat(pid: number, parent: number) {
  try {
    const stat = statOf(pid)
    return stat.parent === parent ? [stat] : []
  } catch {
    return []
  }
}

/** See proc_pid_stat(5). The name of a process, in parentheses, may contain spaces. */
function statOf(pid: number) {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3])
  return { parent: field(4), used: field(14) + field(15), exited: field(16) + field(17) }
}
