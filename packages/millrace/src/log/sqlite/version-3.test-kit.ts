import type { DatabaseSync } from 'node:sqlite'
import type { ThreadOfVersion2 } from './version-2.test-kit.ts'
import { makeVersion2 } from './version-2.test-kit.ts'

// Files as the third version left them. This never changes, since such files must stay readable.

/** A connection to a file that the third version has migrated from the second. */
export function makeVersion3(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion2(path, threads)
  database.exec(`
    BEGIN;
    ALTER TABLE threads ADD COLUMN caller INTEGER;
    ALTER TABLE threads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN lease_ms INTEGER;
    DROP INDEX threads_due;
    CREATE INDEX threads_due ON threads (caller, due) WHERE due IS NOT NULL;
    CREATE TABLE callers (
      n INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      bytes INTEGER NOT NULL DEFAULT 0,
      waiting INTEGER NOT NULL DEFAULT 0,
      minute INTEGER NOT NULL DEFAULT 0,
      minute_bytes INTEGER NOT NULL DEFAULT 0,
      minute_tokens INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX callers_empty ON callers (minute) WHERE bytes = 0;
    CREATE TABLE snapshots (
      thread INTEGER NOT NULL,
      name TEXT NOT NULL,
      seq INTEGER NOT NULL,
      text TEXT NOT NULL,
      PRIMARY KEY (thread, name)
    ) STRICT;
    ALTER TABLE entries RENAME TO old_entries;
    CREATE TABLE entries (
      n INTEGER PRIMARY KEY,
      thread INTEGER AS (n >> 32),
      seq INTEGER AS (n & 4294967295),
      first INTEGER,
      at INTEGER NOT NULL,
      version INTEGER NOT NULL,
      event TEXT NOT NULL,
      cuts TEXT,
      sum INTEGER
    ) STRICT;
    INSERT INTO entries (n, first, at, version, event, cuts)
    SELECT (thread << 32) | seq, first, at, version, event, cuts FROM old_entries ORDER BY thread, seq;
    DROP TABLE old_entries;
    PRAGMA user_version = 3;
    COMMIT`)
  return database
}
