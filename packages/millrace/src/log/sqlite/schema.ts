/**
 * `Mill`, written into the file's header. It distinguishes our files from those of other programs.
 */
export const applicationId = 0x4d696c6c

/**
 * The version of the tables below. Changing them requires a new version and a migration step: see
 * migrate.ts.
 */
export const schemaVersion = 9

/**
 * - `place` is the position of a thread in the order of changes. It grows with every entry and is
 *   never reused, so a page of the list, and what another process has written since, are each a
 *   range of places. A thread with a negative place is hidden: it was deleted, and its rows are
 *   removed in slices as far as no fork needs them.
 * - `base` is the thread that holds the entries of a fork up to `base_seq`; the fork's own entries
 *   come after. NULL if the thread holds all its entries itself.
 * - `due` is when a thread can be claimed: since it became runnable or, if it has an owner, when
 *   the lease expires. NULL if there is nothing to do; then `resting` is its status.
 * - `epoch` starts at a random number, so that a lease never matches another thread created later
 *   under the same id.
 * - `losses` counts consecutive owners that did not release the thread.
 * - `batch` is the number of the last batch of its lease, `batch_seq` and `batch_at` the number and
 *   the time of its last entry.
 * - `added_at` is when a thread was created here if its `updated_at` is another time, as in a copy or
 *   a fork. NULL once the thread has changed.
 * - `background` is 1 for a thread that runs when no other can.
 * - `lease_ms` is the length of the lease when it was granted or renewed.
 * - `caller` is the row of `callers` that the thread counts for; `bytes` and `queued` are its share
 *   of that row's `bytes` and `waiting`. The per-minute values are for `minute`, counted from 1970.
 * - `sum` is a checksum of `event` and `cuts`; NULL in rows written by older versions.
 * - `snapshots` holds the folded state of a thread in named parts. Heads are named after their
 *   `seq`: see snapshots.ts.
 * - `searches` holds the text of the label that searches match, the metadata and the facts; `nanos`
 *   is NULL until facts were saved. It is a separate table because a row of `threads` is rewritten
 *   with every commit.
 * - `texts` holds messages and answers, in the order of `n`, as `entries` does. `search` is the form
 *   that searches match. It comes first, so that they need not read past it.
 * - `tools` holds the names of the tools that have run in a thread.
 * - `rates` holds for each shared rate when it is free: see rates.ts.
 * - `spending` holds what was spent each day, counted from 1970: see spending.ts. A column of its key
 *   that has no value is a single quotation mark, which `toColumn` never returns. `totals` holds the
 *   sums that limits are compared with, for each agent and each user.
 * - `holds` has a row for each limit that a request holds something of.
 * - `notices` report changes that add no entry to other processes: a thread was deleted or handed
 *   over.
 *
 * Entries are clustered by thread: `n` combines the thread's number and the entry's own. A key of
 * two columns would have to be read with the rest of its row to be compared, which takes 13 ms for
 * each entry written next to one of 8 MB.
 *
 * A commit of a hundred threads would then write a page for each of them, which takes 10 µs each. So
 * new entries are first added to `tail`, in the order of writing, and moved to `entries` a thousand at
 * a time. All entries of a thread in `tail` come after those in `entries`.
 */
export const schema = `
CREATE TABLE threads (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  user TEXT,
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
  base_seq INTEGER NOT NULL DEFAULT 0,
  batch INTEGER NOT NULL DEFAULT 0,
  batch_seq INTEGER,
  batch_at INTEGER,
  background INTEGER NOT NULL DEFAULT 0,
  added_at INTEGER
) STRICT;
CREATE UNIQUE INDEX threads_place ON threads (place);
CREATE INDEX threads_user ON threads (user, place) WHERE user IS NOT NULL;
CREATE INDEX threads_due ON threads (background, caller, due) WHERE due IS NOT NULL;
CREATE INDEX threads_owned ON threads (caller, agent) WHERE owner IS NOT NULL;
CREATE INDEX threads_base ON threads (base, base_seq) WHERE base IS NOT NULL;
CREATE INDEX threads_waiting ON threads (place) WHERE due IS NULL AND resting = 'waiting';

CREATE TABLE searches (
  thread INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  metadata TEXT,
  outcome TEXT,
  error TEXT,
  nanos INTEGER
) STRICT;

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

CREATE TABLE tail (
  place INTEGER PRIMARY KEY,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  event TEXT NOT NULL,
  sum INTEGER NOT NULL
) STRICT;

CREATE TABLE signals (
  thread INTEGER NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (thread, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX signals_key ON signals (key, thread);

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

CREATE TABLE rates (
  name TEXT PRIMARY KEY,
  free_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
  thread INTEGER NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (thread, name)
) STRICT;

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
`
