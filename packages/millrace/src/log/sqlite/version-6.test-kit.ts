import type { DatabaseSync } from 'node:sqlite'
import type { ThreadOfVersion2 } from './version-2.test-kit.ts'
import { makeVersion5 } from './version-5.test-kit.ts'

// Files as the sixth version left them. This never changes, since such files must stay readable.

/** A connection to a file that the sixth version has migrated from the fifth. */
export function makeVersion6(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion5(path, threads)
  database.exec(`
    BEGIN;
    CREATE INDEX signals_key ON signals (key, thread);
    PRAGMA user_version = 6;
    COMMIT`)
  return database
}
