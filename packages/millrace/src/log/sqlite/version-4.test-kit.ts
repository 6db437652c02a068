import type { DatabaseSync } from 'node:sqlite'
import type { ThreadOfVersion2 } from './version-2.test-kit.ts'
import { makeVersion3 } from './version-3.test-kit.ts'

// Files as the fourth version left them. This never changes, since such files must stay readable.

/** A connection to a file that the fourth version has migrated from the third. */
export function makeVersion4(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion3(path, threads)
  database.exec(`
    BEGIN;
    ALTER TABLE threads ADD COLUMN base INTEGER;
    ALTER TABLE threads ADD COLUMN base_seq INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX threads_base ON threads (base, base_seq) WHERE base IS NOT NULL;
    UPDATE snapshots SET name = printf('head/%010d', seq) WHERE name = '';
    PRAGMA user_version = 4;
    COMMIT`)
  return database
}
