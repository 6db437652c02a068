import type { DatabaseSync } from 'node:sqlite'
import { PROTOCOL_VERSION } from '../../protocol/index.ts'

/** A thread has no owner, or its lease has expired: see `isExpired`. */
export const unowned = '(owner IS NULL OR due <= :now OR due > :now + 2 * ifnull(lease_ms, due))'

const runnable = `due IS NOT NULL AND ${unowned}`

const runs = `
  SELECT count(*) AS runs FROM threads INDEXED BY threads_owned WHERE owner IS NOT NULL AND due IS NOT NULL AND NOT ${unowned}`

/** The columns of a thread, of `threads` joined with `searches`. */
const threadColumns = 'threads.*, metadata, outcome, error, nanos'
export const joinSearches = 'LEFT JOIN searches ON searches.thread = threads.n'

/** The range of the rows of `:thread` in `entries` and `texts`: see schema.ts. */
export const from = (seq: string | number) => `n >= (:thread << 32) | (${seq})`
export const to = (seq: string | number) => `n <= (:thread << 32) | (${seq})`
/** The highest number that a row can have. */
export const maxSeq = 2 ** 32 - 1

/** Deleted threads that forks still need have places below the negative of this. */
const keptPlaces = 2 ** 40

/** What reading takes, apart from lists, kept prepared while the file is open. */
export function readStatements(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text)
  return {
    /**
     * The last place ever used. A deleted thread's own place is gone, but its notice has a later
     * one.
     */
    lastPlace: sql(`
      SELECT max(ifnull((SELECT max(place) FROM threads), 0), ifnull((SELECT max(place) FROM notices), 0)) AS place`),
    getThread: sql(
      `SELECT ${threadColumns}, (SELECT name FROM callers WHERE callers.n = caller) AS caller_name
       FROM threads ${joinSearches} WHERE id = ?`,
    ),
    /** Also returns the last number that a fork refers to; null if there is no fork. */
    findHidden: sql(`
      SELECT n, caller, bytes, queued, base,
        (SELECT max(base_seq) FROM threads AS forks INDEXED BY threads_base WHERE forks.base = threads.n) AS shared
      FROM threads INDEXED BY threads_place WHERE place < 0 AND place > -${keptPlaces} LIMIT 1`),
    headOf: sql(
      'SELECT n, head, title IS NULL AS untitled, caller, agent, background, owner FROM threads WHERE id = ?',
    ),
    signalsOf: sql('SELECT key, seq FROM signals WHERE thread = ?'),
    signalOf: sql('SELECT key, seq FROM signals WHERE thread = ? AND key = ?'),
    /** A thread with a negative place was deleted: see schema.ts. */
    findKey: sql(`
      SELECT threads.id, signals.seq FROM signals INDEXED BY signals_key CROSS JOIN threads ON threads.n = signals.thread
      WHERE signals.key = ? AND threads.place > 0 ORDER BY signals.thread DESC LIMIT ?`),
    /**
     * The thread, then the threads that hold its earlier entries, back to the one with the entry
     * after a number; each with the last number to read there.
     */
    segmentsAfter: sql(`
      WITH RECURSIVE segments (n, up_to, base, base_seq) AS (
        SELECT n, head, base, base_seq FROM threads WHERE id = :id
        UNION ALL
        SELECT threads.n, segments.base_seq, threads.base, threads.base_seq
        FROM segments JOIN threads ON threads.n = segments.base WHERE segments.base_seq > :after
      )
      SELECT n AS thread, up_to AS upTo FROM segments`),
    readSegment: sql(`
      SELECT seq, first, at, version, event, cuts, sum FROM entries
      WHERE ${from(':after + 1')} AND ${to(maxSeq)} ORDER BY n LIMIT :limit`),
    /** The entries that were not moved yet. Reads all rows of the table. */
    readTail: sql(`
      SELECT n & ${maxSeq} AS seq, NULL AS first, at, version, event, NULL AS cuts, sum FROM tail
      WHERE ${from(':after + 1')} AND ${to(maxSeq)} ORDER BY n LIMIT :limit`),
    /**
     * Nested in a write transaction, or a transaction of its own: everything read between the two
     * is one consistent state.
     */
    beginRead: sql('SAVEPOINT reading'),
    endRead: sql('RELEASE reading'),
    /**
     * Steps from caller to caller through the index, so that the cost does not depend on how many
     * threads each has.
     */
    callersDue: sql(`
      WITH RECURSIVE due (n) AS (
        SELECT min(caller) FROM threads INDEXED BY threads_due
        WHERE due IS NOT NULL AND background = :background AND caller > :after
        UNION ALL
        SELECT (
          SELECT min(caller) FROM threads INDEXED BY threads_due
          WHERE due IS NOT NULL AND background = :background AND caller > due.n
        ) FROM due WHERE due.n IS NOT NULL LIMIT :most
      )
      SELECT n AS caller, (${runs} AND caller = due.n) AS runs FROM due WHERE n IS NOT NULL`),
    /**
     * The first few of each caller, in a single statement: many short ones take ten times as long.
     */
    runnableOf: sql(`
      SELECT threads.id, threads.agent, threads.head, threads.due, ifnull(threads.caller, 0) AS caller
      FROM json_each(:callers) AS asked CROSS JOIN threads
      WHERE threads.n IN (
        SELECT n FROM threads INDEXED BY threads_due
        WHERE background = :background AND caller IS nullif(asked.value, 0) AND ${runnable} AND agent IN (SELECT value FROM json_each(:agents))
        ORDER BY due, n LIMIT :most
      ) ORDER BY threads.due, threads.n`),
    runsOf: sql(`${runs} AND caller = :caller`),
    runsOfAgent: sql(`
      SELECT count(*) AS runs FROM threads INDEXED BY threads_owned
      WHERE owner IS NOT NULL AND due IS NOT NULL AND agent = :agent AND NOT ${unowned}`),
    /** The time of the last change grows with the place, so a reader can stop at the first later one. */
    byChange: sql(`
      SELECT id, due, ifnull(added_at, updated_at) AS changed FROM threads INDEXED BY threads_place
      WHERE place > 0 ORDER BY place`),
    rateOf: sql('SELECT free_at AS freeAt FROM rates WHERE name = ?'),
    getCaller: sql('SELECT * FROM callers WHERE n = ?'),
    findCaller: sql('SELECT * FROM callers WHERE name = ?'),
  }
}

/** What the connection that writes needs. */
export function prepareStatements(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text)
  return {
    ...readStatements(database),
    addThread: sql(`
      INSERT INTO threads
        (id, agent, user, forked_id, forked_seq, created_at, updated_at, head, compacted, place, due, epoch, title, caller,
        bytes, queued, base, base_seq, background, added_at)
      VALUES (:id, :agent, :user, :forkedId, :forkedSeq, :createdAt, :updatedAt, :head, :baseSeq, :place, :due, :epoch,
        :title, :caller, :bytes, :queued, :base, :baseSeq, :background, :addedAt)`),
    /**
     * No thread can have this id: text that starts like this is stored as JSON. The new epoch
     * fences the owner.
     */
    hideThread: sql(`
      UPDATE threads SET id = '"deleted:' || n, place = -n, due = NULL, owner = NULL, epoch = epoch + 1,
        caller = NULL, bytes = 0, queued = 0
      WHERE n = ?`),
    keepHidden: sql(`UPDATE threads SET place = -n - ${keptPlaces} WHERE n = ?`),
    releaseHidden: sql('UPDATE threads SET place = -n WHERE n = ? AND place < 0'),
    entrySizes: sql(`
      SELECT seq, octet_length(event) + ifnull(octet_length(cuts), 0) AS size FROM entries
      WHERE ${from(':after + 1')} AND ${to(maxSeq)} AND ifnull(first, seq) > :after ORDER BY n LIMIT :most`),
    deleteEntries: sql(`DELETE FROM entries WHERE ${from(':from')} AND ${to(':last')}`),
    textSizes: sql(`
      SELECT n & ${maxSeq} AS seq, octet_length(search) + octet_length(text) AS size FROM texts
      WHERE ${from(':after + 1')} AND ${to(maxSeq)} ORDER BY n LIMIT :most`),
    deleteTexts: sql(`DELETE FROM texts WHERE ${from(':from')} AND ${to(':last')}`),
    deleteSignals: sql(`
      DELETE FROM signals WHERE thread = :n AND key <= (
        SELECT max(key) FROM (SELECT key FROM signals WHERE thread = :n ORDER BY key LIMIT :most))`),
    deleteSnapshots: sql(`
      DELETE FROM snapshots WHERE rowid IN (SELECT rowid FROM snapshots WHERE thread = ? LIMIT 4)`),
    deleteSearch: sql('DELETE FROM searches WHERE thread = ?'),
    deleteTools: sql('DELETE FROM tools WHERE thread = ?'),
    deleteThread: sql('DELETE FROM threads WHERE n = ?'),
    setTitle: sql('UPDATE threads SET title = ? WHERE n = ?'),
    addSearch: sql('INSERT INTO searches (thread, text, metadata) VALUES (?, ?, ?)'),
    setSearch: sql(
      'INSERT INTO searches (thread, text) VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text',
    ),
    setMetadata: sql(`
      INSERT INTO searches (thread, text, metadata) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET text = excluded.text, metadata = excluded.metadata`),
    setFacts: sql(`
      INSERT INTO searches (thread, text, outcome, error, nanos) VALUES (?, '', ?, ?, ?)
      ON CONFLICT DO UPDATE SET outcome = excluded.outcome, error = excluded.error, nanos = excluded.nanos`),
    addTool: sql('INSERT INTO tools (thread, name) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    addText: sql(`
      INSERT INTO texts (n, search, text) SELECT (:n << 32) | :seq, :search, :text
      FROM threads WHERE n = :n AND base_seq < :seq ON CONFLICT DO NOTHING`),
    /** The fence: returns no row if the lease is not the thread's latest. */
    headByLease: sql(`
      SELECT n, head, caller, batch, batch_seq, batch_at FROM threads WHERE id = ? AND epoch = ? AND owner = ?`),
    /**
     * Changes nothing if the lease is not the thread's latest, or something else was written. Without
     * numbers, which Node 22 does not bind.
     */
    growByLease: sql(`
      UPDATE threads SET head = ?, batch_seq = ?, updated_at = ?, batch_at = ?, place = ?, bytes = bytes + ?,
        batch = ?, added_at = NULL
      WHERE n = ? AND head = ? AND batch = ? AND epoch = ? AND owner = ?`),
    queuedOf: sql('SELECT queued FROM threads WHERE n = ?'),
    setQueued: sql('UPDATE threads SET queued = ? WHERE n = ?'),
    growBySignal: sql(`
      UPDATE threads SET head = ?, updated_at = ?, place = ?, due = ifnull(due, ?), bytes = bytes + ?, queued = queued + ?,
        added_at = NULL
      WHERE n = ?`),
    ownsThread: sql('SELECT 1 FROM threads WHERE id = ? AND epoch = ? AND owner = ?'),
    wasReleased: sql('SELECT 1 FROM threads WHERE id = ? AND epoch = ? AND owner IS NULL'),
    addEntry: sql(`
      INSERT INTO tail (n, at, version, event, sum) VALUES ((? << 32) | ?, ?, ${PROTOCOL_VERSION}, ?, ?)`),
    /** In two queries: one for both ends would read all rows. */
    tailLength: sql(`
      SELECT ifnull((SELECT max(place) FROM tail) - (SELECT min(place) FROM tail) + 1, 0) AS length`),
    lastOfSlice: sql('SELECT (SELECT min(place) FROM tail) + ? - 1 AS place'),
    copyTail: sql(`
      INSERT INTO entries (n, at, version, event, sum)
      SELECT n, at, version, event, sum FROM tail WHERE place <= ? ORDER BY n`),
    deleteTail: sql('DELETE FROM tail WHERE place <= ?'),
    copyTailOf: sql(`
      INSERT INTO entries (n, at, version, event, sum)
      SELECT n, at, version, event, sum FROM tail WHERE ${from(0)} AND ${to(maxSeq)} ORDER BY n`),
    deleteTailOf: sql(`DELETE FROM tail WHERE ${from(0)} AND ${to(maxSeq)}`),
    addPacked: sql(`
      INSERT INTO entries (n, first, at, version, event, cuts, sum)
      VALUES ((? << 32) | ?, ?, ?, ${PROTOCOL_VERSION}, ?, ?, ?)`),
    addSignal: sql('INSERT INTO signals (thread, key, seq) VALUES (?, ?, ?)'),
    getSignal: sql('SELECT seq FROM signals WHERE thread = ? AND key = ?'),
    claim: sql(`
      UPDATE threads SET epoch = epoch + 1, owner = :owner, due = :due, lease_ms = :leaseMs,
        losses = iif(owner IS NULL, 0, losses + 1), batch = 0
      WHERE id = :id AND ${runnable} RETURNING epoch, losses`),
    claimAgain: sql(`
      UPDATE threads SET due = :due, lease_ms = :leaseMs WHERE id = :id AND owner = :owner RETURNING epoch, losses`),
    renew: sql('UPDATE threads SET due = ?, lease_ms = ? WHERE id = ? AND epoch = ? AND owner = ?'),
    release: sql(`
      UPDATE threads SET owner = NULL, due = ?, resting = ifnull(?, resting)
      WHERE id = ? AND epoch = ? AND owner = ? AND head = ? RETURNING n`),
    setRate: sql(
      'INSERT INTO rates (name, free_at) VALUES (?, ?) ON CONFLICT DO UPDATE SET free_at = excluded.free_at',
    ),
    addCaller: sql('INSERT INTO callers (name) VALUES (?)'),
    countCaller: sql(`
      UPDATE callers SET bytes = bytes + ?, waiting = waiting + ?,
        minute_bytes = iif(minute = ?, minute_bytes, 0) + ?, minute_tokens = iif(minute = ?, minute_tokens, 0) + ?, minute = ?
      WHERE n = ?`),
    /**
     * Every thread counts as some bytes, so a caller without bytes has no threads. What it wrote
     * this minute still counts.
     */
    forgetCallers: sql('DELETE FROM callers INDEXED BY callers_empty WHERE bytes = 0 AND minute < ?'),
    compactedOf: sql('SELECT n, compacted, caller FROM threads WHERE id = ?'),
    /** From the entry that packing last ended with, since what follows may be joined to it. */
    packable: sql(`
      SELECT seq, first, at, version, iif(octet_length(event) > :longest, NULL, event) AS event, cuts, sum FROM entries
      WHERE ${from(':from')} AND ${to(':to')} ORDER BY n LIMIT :most`),
    packInto: sql(`
      UPDATE entries SET first = ?, version = ${PROTOCOL_VERSION}, event = ?, cuts = ?, sum = ?
      WHERE n = (? << 32) | ?`),
    deletePacked: sql(`DELETE FROM entries WHERE ${from(':from')} AND ${to(':before - 1')}`),
    setCompacted: sql('UPDATE threads SET compacted = max(compacted, ?), bytes = bytes - ? WHERE n = ?'),
    addNotice: sql('INSERT INTO notices (place, id) VALUES (?, ?)'),
    /**
     * Other processes have long read these, unless they were suspended. The last notice is always
     * kept, so that its place stays used.
     */
    forgetNotices: sql('DELETE FROM notices WHERE place < ? - 100000'),
    changedSince: sql(`
      SELECT place, id, head, due IS NOT NULL AND owner IS NULL AS runnable FROM threads WHERE place > :seen
      UNION ALL SELECT place, id, NULL, 1 FROM notices WHERE place > :seen`),
    dataVersion: sql('PRAGMA data_version'),
  }
}

export type ReadStatements = ReturnType<typeof readStatements>
export type Statements = ReturnType<typeof prepareStatements>
