import type { ThreadStore } from 'millrace/store'
import { appending } from './append.ts'
import { changeFeed } from './changes.ts'
import type { Database, DatabaseOptions } from './database.ts'
import { openDatabase } from './database.ts'
import { savingFacts } from './facts.ts'
import { leases } from './leases.ts'
import { listing } from './list.ts'
import { migrate } from './migrate.ts'
import { packing } from './packing.ts'
import { reading } from './reads.ts'
import { signaling } from './signals.ts'
import { snapshots } from './snapshots.ts'
import { spending } from './spending.ts'
import { shards, sqlFor } from './sql.ts'
import { sweeper } from './sweep.ts'
import { threads } from './threads.ts'
import { callerUsage } from './usage.ts'

export interface DatabaseStoreOptions extends Omit<DatabaseOptions, 'migrate'> {
  readonly listenUrl: string
  readonly now: (() => number) | undefined
  /** After how long a search returns a page that is not full. */
  readonly scanMs?: number | undefined
}

export function databaseStore(options: DatabaseStoreOptions): { store: ThreadStore; database: Database } {
  const database = openDatabase({ ...options, migrate })
  const sql = sqlFor(database.quoted, Math.floor(Math.random() * shards))
  const now = () => (options.now ? Math.round(options.now()) : null)
  const changes = changeFeed({ database, sql, listenUrl: options.listenUrl })
  const { readUsage, store: usage } = callerUsage({ database, sql, now })
  const sweep = sweeper(database, sql)
  const shared = { database, sql, now, changes, readUsage, sweep: sweep.start }
  const { readOne, store: reads } = reading(shared)
  let closing: Promise<void> | undefined

  async function close() {
    await Promise.all([changes.close(), sweep.close()])
    await database.close()
  }

  const store: ThreadStore = {
    ...threads({ ...shared, readOne }),
    ...listing(shared, options.scanMs),
    ...reads,
    ...appending(shared),
    ...signaling({ ...shared, readOne }),
    ...leases(shared),
    ...savingFacts(shared),
    ...usage,
    ...spending(shared),
    ...snapshots(shared),
    ...packing(shared),
    watch: changes.watch,
    close() {
      closing ??= close()
      return closing
    },
  }
  return { store, database }
}
