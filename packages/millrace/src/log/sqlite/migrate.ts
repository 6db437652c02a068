import type { DatabaseSync } from 'node:sqlite'
import { searchText, titleOf } from '../../protocol/index.ts'
import { loadDriver } from './driver.ts'
import { fromColumn, optional } from './rows.ts'

/**
 * The steps from each version to the next. They never change: files of every version are still in
 * use.
 */
const steps: Readonly<Record<number, (database: DatabaseSync) => void>> = {
  1: addTitles,
  2: addCallers,
  3: addShares,
  4: addBatches,
  5: indexKeys,
  6: addSpending,
  7: addFacts,
  8: addTail,
}

/**
 * Migrates the tables of a file to the version of this package, in one transaction. Fails as locked
 * while another process has the file open, and until it is done no other process can open it. A
 * process knows only the tables it found on opening, so an older version must never have the file
 * open while they change. When it opens the file later, it finds the new version and reports an
 * error.
 */
export function migrate(path: string): void {
  const Driver = loadDriver()
  const database = new Driver(path)
  try {
    // In WAL mode, every process that has read the file holds a shared lock on it, which rules out
    // this exclusive one.
    database.exec(
      'PRAGMA busy_timeout = 3; PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE',
    )
    // Another process may have been faster.
    let version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    for (let step = steps[version]; step; step = steps[version]) {
      step(database)
      version++
      database.exec(`PRAGMA user_version = ${version}`)
    }
    database.exec('COMMIT')
  } finally {
    // Uncommitted changes are rolled back.
    database.close()
  }
}

/** How many threads are in memory at a time. */
const sliceLength = 1000

/** Version 2: threads have titles and can be searched. Takes about 30 microseconds per thread. */
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
      const title = ignoreDamage(() => titleOf(entriesIn(inputs.iterate(n) as Iterable<{ event: string }>)))
      const found = { id: fromColumn(id), agent: fromColumn(agent), title }
      if (title !== undefined) setTitle.run(optional(title), n)
      setSearch.run(
        n,
        searchText({ ...found, metadata: ignoreDamage(() => metadata && JSON.parse(metadata)) }),
      )
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

/** Ignores damage: reading that thread reports it, and it must not block all the others. */
function ignoreDamage<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/**
 * Version 3: what callers use is counted, rows have checksums, and entries have a key of one
 * number. Rewrites all entries: about five seconds per gigabyte.
 */
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

/** Version 4: forks refer to the entries they share, and a thread has several snapshot heads. */
function addShares(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE threads ADD COLUMN base INTEGER;
    ALTER TABLE threads ADD COLUMN base_seq INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX threads_base ON threads (base, base_seq) WHERE base IS NOT NULL;
    UPDATE snapshots SET name = printf('head/%010d', seq) WHERE name = ''`)
}

/**
 * Version 5: writes can be repeated, threads have priorities and a time of their last change here,
 * their metadata is apart from what changes with every commit, and there are shared rates.
 */
function addBatches(database: DatabaseSync): void {
  database.exec(`
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
    CREATE INDEX threads_owned ON threads (caller, agent) WHERE owner IS NOT NULL`)
}

/** Version 6: the threads that have a signal with a key can be found. */
function indexKeys(database: DatabaseSync): void {
  database.exec('CREATE INDEX signals_key ON signals (key, thread)')
}

/** Version 7: what was spent is counted from here on, and requests can hold what they may spend. */
function addSpending(database: DatabaseSync): void {
  database.exec(`
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
    CREATE INDEX holds_name ON holds (scope, name)`)
}

/** Version 8: threads have facts, which are saved from here on, and searches find messages. */
function addFacts(database: DatabaseSync): void {
  database.exec(`
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
    ) STRICT, WITHOUT ROWID`)
}

/** Version 9: new entries are written in the order in which they come, and sorted later. */
function addTail(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE tail (
      place INTEGER PRIMARY KEY,
      n INTEGER NOT NULL,
      at INTEGER NOT NULL,
      version INTEGER NOT NULL,
      event TEXT NOT NULL,
      sum INTEGER NOT NULL
    ) STRICT`)
}
