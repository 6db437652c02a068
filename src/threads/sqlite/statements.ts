import type { DatabaseSync } from 'node:sqlite'

/** Every statement but that of the list, kept ready for as long as the file is open. */
export function prepareStatements(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text)
  return {
    /** The last place that was ever given out. A deleted thread's own is gone, but it has left a notice with a later one. */
    lastPlace: sql(`
      SELECT max(ifnull((SELECT max(place) FROM threads), 0), ifnull((SELECT max(place) FROM notices), 0)) AS place`),
    addThread: sql(`
      INSERT INTO threads
        (id, agent, user, metadata, forked_id, forked_seq, created_at, updated_at, head, place, due, epoch, title)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO NOTHING`),
    getThread: sql('SELECT * FROM threads WHERE id = ?'),
    deleteThread: sql('DELETE FROM threads WHERE n = ?'),
    deleteEntries: sql('DELETE FROM entries WHERE thread = ?'),
    deleteSignals: sql('DELETE FROM signals WHERE thread = ?'),
    deleteSearch: sql('DELETE FROM searches WHERE thread = ?'),
    setTitle: sql('UPDATE threads SET title = ? WHERE n = ?'),
    setSearch: sql('INSERT OR REPLACE INTO searches (thread, text) VALUES (?, ?)'),

    headOf: sql('SELECT n, head, title IS NULL AS untitled FROM threads WHERE id = ?'),
    /** The fence: nothing changes if the lease is not the thread's last. (To ask for the head costs less than RETURNING it.) */
    growByLease: sql(`
      UPDATE threads SET head = head + ?, updated_at = ?, place = ? WHERE id = ? AND epoch = ? AND owner = ?`),
    growBySignal: sql(`
      UPDATE threads SET head = ?, updated_at = ?, place = ?, due = ifnull(due, ?) WHERE n = ?`),
    ownsThread: sql('SELECT 1 FROM threads WHERE id = ? AND epoch = ? AND owner = ?'),
    addEntry: sql(
      'INSERT INTO entries (thread, seq, first, at, version, event, cuts) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    addSignal: sql('INSERT INTO signals (thread, key, seq) VALUES (?, ?, ?)'),
    getSignal: sql('SELECT seq FROM signals WHERE thread = ? AND key = ?'),

    /** One statement is one snapshot: what the log holds and that the thread is there. */
    read: sql(`
      SELECT threads.head, entries.seq, entries.first, entries.at, entries.version, entries.event, entries.cuts
      FROM threads LEFT JOIN entries ON entries.thread = threads.n AND entries.seq > ?
      WHERE threads.id = ? ORDER BY entries.seq LIMIT ?`),

    claim: sql(`
      UPDATE threads SET epoch = epoch + 1, owner = ?, due = ?, losses = iif(owner IS NULL, 0, losses + 1)
      WHERE id = ? AND due IS NOT NULL AND (owner IS NULL OR due <= ?) RETURNING epoch, losses`),
    renew: sql('UPDATE threads SET due = ? WHERE id = ? AND epoch = ? AND owner = ?'),
    release: sql(`
      UPDATE threads SET owner = NULL, due = ?, resting = ifnull(?, resting)
      WHERE id = ? AND epoch = ? AND owner = ? AND head = ?`),
    stranded: sql(`
      SELECT id FROM threads
      WHERE due IS NOT NULL AND (owner IS NULL OR due <= ?) AND agent IN (SELECT value FROM json_each(?))
      ORDER BY due LIMIT ?`),

    compactedOf: sql('SELECT n, compacted FROM threads WHERE id = ?'),
    /** From the entry on that the last time ended with: what follows may be joined to it. */
    packable: sql(`
      SELECT seq, first, at, version, event, cuts FROM entries
      WHERE thread = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?`),
    packInto: sql(
      'UPDATE entries SET first = ?, version = ?, event = ?, cuts = ? WHERE thread = ? AND seq = ?',
    ),
    deletePacked: sql('DELETE FROM entries WHERE thread = ? AND seq >= ? AND seq < ?'),
    setCompacted: sql('UPDATE threads SET compacted = max(compacted, ?) WHERE n = ?'),

    addNotice: sql('INSERT INTO notices (place, id) VALUES (?, ?)'),
    /** Others have long read them, but for one that was asleep. The last always stays: it keeps its place taken. */
    forgetNotices: sql('DELETE FROM notices WHERE place < ? - 100000'),
    changedSince: sql(`
      SELECT place, id, head FROM threads WHERE place > :seen
      UNION ALL SELECT place, id, NULL FROM notices WHERE place > :seen`),
    dataVersion: sql('PRAGMA data_version'),
  }
}

export type Statements = ReturnType<typeof prepareStatements>
