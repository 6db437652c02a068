import type { DatabaseSync } from 'node:sqlite'
import { searchText, titleOf } from '../../protocol/index.ts'
import { loadDriver } from './driver.ts'
import { fromColumn, optional } from './rows.ts'

/** From each version to the next. They are never changed: files of every version there was are somewhere. */
const steps: Readonly<Record<number, (database: DatabaseSync) => void>> = {
  1: addTitles,
  2: addCallers,
  3: addShares,
}

/**
 * Brings the tables of a file to the version of this package, in one transaction. Fails as locked while anybody else has the file open,
 * and meanwhile nobody else can open it: a package knows only the tables that it found when it opened the file, so the older one
 * is never there while they change. It meets the new version when it comes, and refuses.
 */
export function migrate(path: string): void {
  const Driver = loadDriver()
  const database = new Driver(path)
  try {
    // Where there is a write-ahead log everybody who has looked into the file holds a lock on it, which this one cannot have with them.
    database.exec(
      'PRAGMA busy_timeout = 3; PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE',
    )
    // Somebody else may have been quicker.
    let version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    for (let step = steps[version]; step; step = steps[version]) {
      step(database)
      version++
      database.exec(`PRAGMA user_version = ${version}`)
    }
    database.exec('COMMIT')
  } finally {
    // What was not committed is rolled back.
    database.close()
  }
}

/** So many threads are in memory at once. */
const sliceLength = 1000

/** Version 2: threads have titles and can be searched for. Takes about 30 microseconds for a thread. */
function addTitles(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE threads ADD COLUMN title TEXT;
    CREATE TABLE searches (
      thread INTEGER PRIMARY KEY,
      text TEXT NOT NULL
    ) STRICT`)
  const slice = database.prepare('SELECT n, id, agent, metadata FROM threads WHERE n > ? ORDER BY n LIMIT ?')
  const inputs = database.prepare(
    `SELECT event FROM entries WHERE thread = ? AND instr(event, '"input"') > 0 ORDER BY seq`,
  )
  const setTitle = database.prepare('UPDATE threads SET title = ? WHERE n = ?')
  const setSearch = database.prepare('INSERT INTO searches (thread, text) VALUES (?, ?)')
  for (let last = 0; ; ) {
    const threads = slice.all(last, sliceLength) as unknown as OldThread[]
    for (const { n, id, agent, metadata } of threads) {
      const title = undamaged(() => titleOf(entriesIn(inputs.iterate(n) as Iterable<{ event: string }>)))
      const found = { id: fromColumn(id), agent: fromColumn(agent), title }
      if (title !== undefined) setTitle.run(optional(title), n)
      setSearch.run(n, searchText({ ...found, metadata: undamaged(() => metadata && JSON.parse(metadata)) }))
      last = n
    }
    if (threads.length < sliceLength) return
  }
}

interface OldThread {
  readonly n: number
  readonly id: string
  readonly agent: string
  readonly metadata: string | null
}

function* entriesIn(rows: Iterable<{ readonly event: string }>) {
  for (const { event } of rows) yield { event: JSON.parse(event) }
}

/** Damage is told to whoever reads that thread. It is no reason for all others to wait. */
function undamaged<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Version 3: what callers hold is counted, rows have checksums, and entries have a key of one number. Writes all entries anew: about five seconds for a gigabyte. */
function addCallers(database: DatabaseSync): void {
  database.exec(`
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
    UPDATE threads SET bytes = 256 + ifnull(octet_length(metadata), 0) + ifnull(
      (SELECT sum(octet_length(event) + ifnull(octet_length(cuts), 0)) FROM entries WHERE thread = n), 0);
    INSERT INTO callers (name, bytes) SELECT user, sum(bytes) FROM threads WHERE user IS NOT NULL GROUP BY user;
    UPDATE threads SET caller = (SELECT callers.n FROM callers WHERE name = user) WHERE user IS NOT NULL;
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
    DROP TABLE old_entries`)
}

/** Version 4: forks refer to the entries that they share, and a thread has several heads of snapshots. */
function addShares(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE threads ADD COLUMN base INTEGER;
    ALTER TABLE threads ADD COLUMN base_seq INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX threads_base ON threads (base, base_seq) WHERE base IS NOT NULL;
    UPDATE snapshots SET name = printf('head/%010d', seq) WHERE name = ''`)
}
