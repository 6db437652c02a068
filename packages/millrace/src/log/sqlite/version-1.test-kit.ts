import { DatabaseSync } from 'node:sqlite'
import type { ThreadEvent } from '../../protocol/index.ts'
import { toColumn } from './rows.ts'
import { applicationId } from './schema.ts'

// Files as the first version created them. This never changes, since such files must stay readable.

const tables = `
CREATE TABLE threads (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  user TEXT,
  metadata TEXT,
  forked_id TEXT,
  forked_seq INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  head INTEGER NOT NULL,
  compacted INTEGER NOT NULL DEFAULT 0,
  place INTEGER NOT NULL,
  resting TEXT NOT NULL DEFAULT 'idle',
  due INTEGER,
  owner TEXT,
  epoch INTEGER NOT NULL,
  losses INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX threads_place ON threads (place);
CREATE INDEX threads_user ON threads (user, place) WHERE user IS NOT NULL;
CREATE INDEX threads_due ON threads (due) WHERE due IS NOT NULL;
CREATE INDEX threads_waiting ON threads (place) WHERE due IS NULL AND resting = 'waiting';

CREATE TABLE entries (
  thread INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  first INTEGER,
  at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  event TEXT NOT NULL,
  cuts TEXT,
  PRIMARY KEY (thread, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE signals (
  thread INTEGER NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (thread, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE notices (
  place INTEGER PRIMARY KEY,
  id TEXT NOT NULL
) STRICT;
`

export interface OldThread {
  readonly id: string
  readonly agent?: string
  readonly metadata?: string
  /** A string is stored as is, to write what no version would. */
  readonly events?: readonly (ThreadEvent | string)[]
}

/** A connection to a new file, as the first version opened it. */
export function makeVersion1(path: string, threads: Iterable<OldThread>): DatabaseSync {
  const database = new DatabaseSync(path)
  database.exec(
    `PRAGMA journal_mode = WAL; BEGIN; PRAGMA application_id = ${applicationId}; PRAGMA user_version = 1; ${tables}`,
  )
  const addThread = database.prepare(
    'INSERT INTO threads (n, id, agent, metadata, created_at, updated_at, head, place, epoch) VALUES (?, ?, ?, ?, 1, 1, ?, ?, 7)',
  )
  const addEntry = database.prepare(
    'INSERT INTO entries (thread, seq, at, version, event) VALUES (?, ?, 1, 1, ?)',
  )
  let n = 0
  for (const { id, agent = 'a', metadata = null, events = [] } of threads) {
    addThread.run(++n, toColumn(id), agent, metadata, events.length, n)
    for (const [index, event] of events.entries())
      addEntry.run(n, index + 1, typeof event === 'string' ? event : JSON.stringify(event))
  }
  database.exec('COMMIT')
  return database
}
