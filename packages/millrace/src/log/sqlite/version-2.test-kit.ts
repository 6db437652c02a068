import type { DatabaseSync } from 'node:sqlite'
import type { OldThread } from './version-1.test-kit.ts'
import { makeVersion1 } from './version-1.test-kit.ts'

// Files as the second version left them. This never changes, since such files must stay readable.

export interface ThreadOfVersion2 extends OldThread {
  readonly user?: string
}

/** A connection to a file that the second version has migrated from the first. */
export function makeVersion2(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion1(path, threads)
  database.exec(`
    BEGIN;
    ALTER TABLE threads ADD COLUMN title TEXT;
    CREATE TABLE searches (
      thread INTEGER PRIMARY KEY,
      text TEXT NOT NULL
    ) STRICT;
    PRAGMA user_version = 2;
    COMMIT`)
  const setUser = database.prepare('UPDATE threads SET user = ? WHERE id = ?')
  for (const { id, user } of threads) if (user !== undefined) setUser.run(user, id)
  return database
}
