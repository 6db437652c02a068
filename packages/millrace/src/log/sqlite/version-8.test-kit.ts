import type { DatabaseSync } from 'node:sqlite'
import type { ThreadOfVersion2 } from './version-2.test-kit.ts'
import { makeVersion7 } from './version-7.test-kit.ts'

// Files as the eighth version left them. This never changes, since such files must stay readable.

/** A connection to a file that the eighth version has migrated from the seventh. */
export function makeVersion8(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion7(path, threads)
  database.exec(`
    BEGIN;
    ALTER TABLE searches ADD COLUMN outcome TEXT;
    ALTER TABLE searches ADD COLUMN error TEXT;
    ALTER TABLE searches ADD COLUMN nanos INTEGER;
    CREATE TABLE texts (
      n INTEGER PRIMARY KEY,
      search TEXT NOT NULL,
      text TEXT NOT NULL
    ) STRICT;
    CREATE TABLE tools (
      thread INTEGER NOT NULL,
      name TEXT NOT NULL,
      PRIMARY KEY (thread, name)
    ) STRICT, WITHOUT ROWID;
    PRAGMA user_version = 8;
    COMMIT`)
  return database
}
