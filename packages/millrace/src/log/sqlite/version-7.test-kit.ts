import type { DatabaseSync } from 'node:sqlite'
import type { ThreadOfVersion2 } from './version-2.test-kit.ts'
import { makeVersion6 } from './version-6.test-kit.ts'

// Files as the seventh version left them. This never changes, since such files must stay readable.

/** A connection to a file that the seventh version has migrated from the sixth. */
export function makeVersion7(path: string, threads: readonly ThreadOfVersion2[]): DatabaseSync {
  const database = makeVersion6(path, threads)
  database.exec(`
    BEGIN;
    CREATE TABLE spending (
      day INTEGER NOT NULL,
      agent TEXT NOT NULL,
      user TEXT NOT NULL,
      model TEXT NOT NULL,
      tool TEXT NOT NULL,
      nanos INTEGER NOT NULL,
      estimated_nanos INTEGER NOT NULL,
      simulated_nanos INTEGER NOT NULL,
      unknown INTEGER NOT NULL,
      runs INTEGER NOT NULL,
      rounds INTEGER NOT NULL,
      tool_calls INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      cache_read_tokens INTEGER NOT NULL,
      cache_write_tokens INTEGER NOT NULL,
      ms INTEGER NOT NULL,
      PRIMARY KEY (day, agent, user, model, tool)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX spending_user ON spending (user, day);

    CREATE TABLE totals (
      day INTEGER NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      nanos INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      rounds INTEGER NOT NULL,
      tool_calls INTEGER NOT NULL,
      ms INTEGER NOT NULL,
      PRIMARY KEY (day, scope, name)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE holds (
      thread INTEGER NOT NULL,
      id TEXT NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      nanos INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      rounds INTEGER NOT NULL,
      PRIMARY KEY (thread, id, scope, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX holds_name ON holds (scope, name);
    PRAGMA user_version = 7;
    COMMIT`)
  return database
}
