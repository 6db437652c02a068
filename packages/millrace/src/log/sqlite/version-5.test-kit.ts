import type { DatabaseSync } from 'node:sqlite'
import type { ThreadOfVersion2 } from './version-2.test-kit.ts'
import { makeVersion4 } from './version-4.test-kit.ts'

// Files as the fifth version left them. This never changes, since such files must stay readable.

/** A connection to a file that the fifth version has migrated from the fourth. */
export function makeVersion5(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion4(path, threads)
  database.exec(`
    BEGIN;
    ALTER TABLE threads ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN batch_seq INTEGER;
    ALTER TABLE threads ADD COLUMN batch_at INTEGER;
    ALTER TABLE threads ADD COLUMN background INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN added_at INTEGER;
    UPDATE threads SET added_at = created_at WHERE created_at > updated_at;
    CREATE TABLE rates (
      name TEXT PRIMARY KEY,
      free_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE searches ADD COLUMN metadata TEXT;
    INSERT INTO searches (thread, text, metadata) SELECT n, '', metadata FROM threads WHERE metadata IS NOT NULL
      ON CONFLICT DO UPDATE SET metadata = excluded.metadata;
    ALTER TABLE threads DROP COLUMN metadata;
    DROP INDEX threads_due;
    CREATE INDEX threads_due ON threads (background, caller, due) WHERE due IS NOT NULL;
    CREATE INDEX threads_owned ON threads (caller, agent) WHERE owner IS NOT NULL;
    PRAGMA user_version = 5;
    COMMIT`)
  return database
}
