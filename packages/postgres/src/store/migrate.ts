import { MillraceError } from 'millrace'
import type { Database } from './database.ts'
import { factTables, keyIndexes, schemaVersion, spendingTables, tables } from './schema.ts'

/**
 * The steps from each version to the next. A step must leave the tables usable for the version
 * before it, since both run side by side during a rolling upgrade; one that cannot sets `oldest`.
 */
const steps: readonly ((schema: string) => string)[] = [tables, keyIndexes, spendingTables, factTables]

interface Versions {
  /** The version of the tables. */
  readonly version: number
  /** The oldest version of this package's tables that can still use them. */
  readonly oldest: number
}

/** Creates the tables, or brings them up to date. One process does it; the others wait. */
export async function migrate(database: Database): Promise<void> {
  const { schema, quoted } = database
  const op = 'postgresStore'
  await checkDurability(database)
  const current = await readVersions(database)
  if (current) checkVersions(current, schema)
  if (current && current.version >= schemaVersion) return
  await database.transaction(op, async (query) => {
    await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`millrace ${schema}`])
    await query(`CREATE SCHEMA IF NOT EXISTS ${quoted}`, [])
    await query(
      `CREATE TABLE IF NOT EXISTS ${quoted}.versions (version integer NOT NULL, oldest integer NOT NULL)`,
      [],
    )
    const [found = { version: 0, oldest: 0 }] = await query<Versions>(
      `SELECT version, oldest FROM ${quoted}.versions`,
      [],
    )
    if (found.version > 0) checkVersions(found, schema)
    if (found.version >= schemaVersion) return
    for (const step of steps.slice(found.version))
      for (const statement of step(quoted).split(';\n')) if (statement.trim()) await query(statement, [])
    await query(`DELETE FROM ${quoted}.versions`, [])
    await query(`INSERT INTO ${quoted}.versions VALUES ($1, $2)`, [schemaVersion, Math.max(1, found.oldest)])
  })
}

/** Without it, a crash of the server loses entries that were already shown. */
async function checkDurability({ query, place }: Database): Promise<void> {
  const [found] = await query<{ setting: string }>(
    'postgresStore',
    "SELECT current_setting('synchronous_commit') AS setting",
    [],
  )
  if (found?.setting !== 'off') return
  process.emitWarning(
    `synchronous_commit is off in PostgreSQL at ${place}, so a crash of the server can lose what users have already seen: set it to on`,
    { code: 'MILLRACE_NOT_DURABLE' },
  )
}

async function readVersions({ query, quoted }: Database): Promise<Versions | undefined> {
  const op = 'postgresStore'
  const [exists] = await query<{ found: boolean }>(op, 'SELECT to_regclass($1) IS NOT NULL AS found', [
    `${quoted}.versions`,
  ])
  if (!exists?.found) return undefined
  const [found] = await query<Versions>(op, `SELECT version, oldest FROM ${quoted}.versions`, [])
  return found
}

function checkVersions({ version, oldest }: Versions, schema: string): void {
  if (oldest <= schemaVersion) return
  const message = `the tables in schema '${schema}' have version ${version}, but this package can use those of up to version ${schemaVersion}: update @millrace/postgres`
  throw new MillraceError({ op: 'postgresStore', code: 'store_error', message })
}
