/** Written into the file's header: `Mill`. It tells our files from those of other programs. */
export const applicationId = 0x4d696c6c

/** Of the tables below. A change of theirs is a new version, and a step from the one before: see migrate.ts. */
export const schemaVersion = 4

/**
 * - `place` is where a thread stands in the order of changes. It grows with every entry and never comes twice, so a page of the
 *   list, and what another process has written since, are each a range of it. A negative place makes a thread invisible: it was
 *   deleted and its rows are removed in slices, as far as no fork needs them.
 * - `base` is the thread that has the entries of a fork up to `base_seq`; the fork's own come after. NULL if it
 *   has all its entries itself.
 * - `due` is from when on a thread can be claimed: since it became runnable or, where it has an owner, when the lease runs out;
 *   NULL if there is nothing to do, and then `resting` says what it is.
 * - `epoch` starts anywhere, so that a lease never fits a thread that was made anew under the same id.
 * - `losses` counts the owners in a row that did not give the thread back.
 * - `lease_ms` is how long the lease was when it was given or renewed.
 * - `caller` is the row of `callers` that the thread counts for; `bytes` and `queued` are what it holds of that row's `bytes` and
 *   `waiting`. The figures of a minute are those of `minute`, counted from 1970.
 * - `sum` is a checksum of `event` and `cuts`; NULL in rows of older versions.
 * - `snapshots` has folded state of a thread, in named parts. Heads are named after their `seq`: see snapshots.ts.
 * - `searches` has what a search looks through. It stands apart since a row of `threads` is written anew with every commit.
 * - `notices` tell other processes of what leaves no entry: a thread is gone, or was handed over.
 *
 * Entries lie together by thread: `n` is the thread's number and the entry's own in one. A key of two columns would have to be read
 * with the rest of its row to be compared, which takes 13 ms for each entry that is written beside one of 8 MB. A table in the order of
 * writing takes a quarter less for the appends of 200 threads that share a commit, but three times as much to compact them, and a
 * page for each entry to read one thread.
 */
export const schema = `
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
  losses INTEGER NOT NULL DEFAULT 0,
  title TEXT,
  caller INTEGER,
  bytes INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  lease_ms INTEGER,
  base INTEGER,
  base_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX threads_place ON threads (place);
CREATE INDEX threads_user ON threads (user, place) WHERE user IS NOT NULL;
CREATE INDEX threads_due ON threads (caller, due) WHERE due IS NOT NULL;
CREATE INDEX threads_base ON threads (base, base_seq) WHERE base IS NOT NULL;
CREATE INDEX threads_waiting ON threads (place) WHERE due IS NULL AND resting = 'waiting';

CREATE TABLE searches (
  thread INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

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
`
