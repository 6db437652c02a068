/**
 * The version of the tables below. Changing them requires a new version and a step in migrate.ts.
 */
export const schemaVersion = 4

/**
 * `heads` has what changes with every commit, one row for each thread; `threads` has the rest. A
 * commit must not change a column of an index of `heads`, nor one that a partial index depends on:
 * then PostgreSQL replaces the row within its page and touches no index. Hence two columns for the
 * position in the list: `changed` grows with every entry; `listed` is set to it when a thread has
 * no owner, and threads with an owner are few.
 *
 * - `updated_at` is the time of the last entry, which may have been copied; `changed_at` is when it
 *   was written here.
 * - `due` is since when a thread without an owner can be claimed; NULL if there is nothing to do,
 *   and then `resting` is its status.
 * - `lease_until` and `lease_ms` describe the lease of the owner; `epoch` starts at a random number,
 *   so that a lease never matches another thread created later under the same id.
 * - `losses` counts consecutive owners that did not release the thread.
 * - `batch` is the number of the last batch of its lease; `batch_head` and `batch_at` are the number
 *   and the time of its last entry.
 * - `caller` is a row of `callers`, 0 without one; `bytes` and `queued` are the thread's share
 *   of what the caller uses.
 * - `base` is the thread that holds the entries of a fork up to `base_seq`, which is also in `heads`,
 *   for readers of what comes after. `compacted` is how far
 *   deltas were joined.
 * - `removal` is 1 for a deleted thread whose rows are still to be removed, 2 for one that is kept
 *   because forks need its entries.
 * - `token` identifies the call that created a thread, so that it can be repeated.
 * - `run_…` is what has been added since the thread was claimed. It is added to `usage` when the
 *   thread is released, so that a commit changes no other row.
 * - `usage` has several rows for each caller, so that processes do not wait for one another. The
 *   values of a minute are for `minute`, counted from 1970.
 * - Events are text: `jsonb` would refuse `\u0000` and lone surrogates.
 */
export const tables = (schema: string) => `
CREATE TABLE ${schema}.heads (
  id text COLLATE "C" PRIMARY KEY,
  n bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  "user" text COLLATE "C",
  caller bigint NOT NULL,
  background boolean NOT NULL,
  base_seq integer NOT NULL,
  head integer NOT NULL,
  updated_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  bytes bigint NOT NULL,
  queued integer NOT NULL,
  changed bigint NOT NULL,
  listed bigint NOT NULL,
  due bigint,
  resting text NOT NULL DEFAULT 'idle',
  owner text COLLATE "C",
  epoch bigint NOT NULL,
  losses integer NOT NULL DEFAULT 0,
  lease_until bigint,
  lease_ms bigint,
  batch integer NOT NULL DEFAULT 0,
  batch_head integer,
  batch_at bigint,
  run_bytes bigint NOT NULL DEFAULT 0,
  run_waiting integer NOT NULL DEFAULT 0,
  run_minute bigint NOT NULL DEFAULT 0,
  run_minute_bytes bigint NOT NULL DEFAULT 0,
  run_minute_tokens bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX heads_listed ON ${schema}.heads (listed) WHERE owner IS NULL;
CREATE INDEX heads_user ON ${schema}.heads ("user", listed) WHERE owner IS NULL AND "user" IS NOT NULL;
CREATE INDEX heads_waiting ON ${schema}.heads (listed)
  WHERE owner IS NULL AND due IS NULL AND resting = 'waiting';
CREATE INDEX heads_due ON ${schema}.heads (background, caller, due) WHERE owner IS NULL AND due IS NOT NULL;
CREATE INDEX heads_owned ON ${schema}.heads (caller) WHERE owner IS NOT NULL;

CREATE SEQUENCE ${schema}.places CACHE 1;

CREATE TABLE ${schema}.threads (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token text NOT NULL,
  forked_id text,
  forked_seq integer,
  created_at bigint NOT NULL,
  title text,
  search text NOT NULL,
  metadata text,
  base bigint,
  base_seq integer NOT NULL,
  compacted integer NOT NULL,
  removal smallint
);
CREATE INDEX threads_base ON ${schema}.threads (base, base_seq) WHERE base IS NOT NULL;
CREATE INDEX threads_removal ON ${schema}.threads (n) WHERE removal = 1;

CREATE TABLE ${schema}.entries (
  thread bigint NOT NULL,
  seq integer NOT NULL,
  first integer,
  at bigint NOT NULL,
  version smallint NOT NULL,
  event text NOT NULL,
  cuts text,
  PRIMARY KEY (thread, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);

CREATE TABLE ${schema}.signals (
  thread bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  PRIMARY KEY (thread, key)
);

CREATE TABLE ${schema}.snapshots (
  thread bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (thread, name)
);

CREATE TABLE ${schema}.callers (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE ${schema}.usage (
  caller bigint NOT NULL,
  shard smallint NOT NULL,
  bytes bigint NOT NULL,
  waiting integer NOT NULL,
  minute bigint NOT NULL,
  minute_bytes bigint NOT NULL,
  minute_tokens bigint NOT NULL,
  PRIMARY KEY (caller, shard)
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.rates (
  name text COLLATE "C" PRIMARY KEY,
  free_at double precision NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.exchanges (
  thread text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  round integer NOT NULL,
  attempt integer NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  bytes integer NOT NULL,
  exchange text NOT NULL,
  PRIMARY KEY (thread, run, round, attempt)
);
CREATE INDEX exchanges_at ON ${schema}.exchanges (at);
`

/** Version 2: the threads that have a signal with a key can be found. */
export const keyIndexes = (schema: string) => `
CREATE INDEX signals_key ON ${schema}.signals (key, thread);
CREATE UNIQUE INDEX heads_n ON ${schema}.heads (n);
`

/**
 * Version 3: what was spent, and what requests hold.
 *
 * - `day` is counted from 1970. `key` is a hash of agent, user, model and tool: an index cannot have
 *   values of any length, and a primary key cannot have NULL.
 * - `spending` and `totals` have several rows for each sum, as `usage` has. `totals` holds the sums
 *   that limits are compared with, for each agent and each user.
 * - `holds` has a row for each limit that a request holds something of.
 */
export const spendingTables = (schema: string) => `
CREATE TABLE ${schema}.spending (
  day integer NOT NULL,
  key uuid NOT NULL,
  shard smallint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  "user" text COLLATE "C",
  model text COLLATE "C",
  tool text COLLATE "C",
  nanos bigint NOT NULL,
  estimated_nanos bigint NOT NULL,
  simulated_nanos bigint NOT NULL,
  unknown bigint NOT NULL,
  runs bigint NOT NULL,
  rounds bigint NOT NULL,
  tool_calls bigint NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (day, key, shard)
) WITH (fillfactor = 50);
CREATE INDEX spending_user ON ${schema}.spending ("user", day) WHERE "user" IS NOT NULL;
CREATE TABLE ${schema}.totals (
  day integer NOT NULL,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  nanos bigint NOT NULL,
  tokens bigint NOT NULL,
  rounds bigint NOT NULL,
  tool_calls bigint NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (day, scope, name, shard)
) WITH (fillfactor = 50);
CREATE TABLE ${schema}.holds (
  thread bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  nanos bigint NOT NULL,
  tokens bigint NOT NULL,
  rounds bigint NOT NULL,
  PRIMARY KEY (thread, id, scope, name)
);
CREATE INDEX holds_name ON ${schema}.holds (scope, name);
`

/**
 * Version 4: the facts of threads.
 *
 * - `nanos` is NULL until facts were saved.
 * - `texts` has messages and answers; `search` is the form that searches match.
 * - `tools` has the names of the tools that have run in a thread.
 * - Both refer to `threads`, so that a process of an older version removes them with it.
 */
export const factTables = (schema: string) => `
ALTER TABLE ${schema}.threads ADD COLUMN outcome text, ADD COLUMN error text, ADD COLUMN nanos bigint;
CREATE TABLE ${schema}.texts (
  thread bigint NOT NULL REFERENCES ${schema}.threads ON DELETE CASCADE,
  seq integer NOT NULL,
  search text NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (thread, seq)
);
CREATE TABLE ${schema}.tools (
  thread bigint NOT NULL REFERENCES ${schema}.threads ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (thread, name)
);
`
