import type { DatabaseSync } from 'node:sqlite'
import type { ThreadStore } from '../store.ts'
import type { Commits } from './commits.ts'
import { fromColumn, toColumn } from './rows.ts'

/** What a head is named among the parts of a snapshot. */
const head = ''

/** Keeps the last snapshot of each thread. */
export function snapshots(
  database: DatabaseSync,
  { read, writeLater }: Commits,
): Pick<ThreadStore, 'snapshot' | 'snapshotPart' | 'saveSnapshot'> {
  const find = database.prepare(`
    SELECT seq, text FROM snapshots
    WHERE thread = (SELECT n FROM threads WHERE id = ? AND place >= 0) AND name = ?`)
  const owned = database.prepare('SELECT n FROM threads WHERE id = ? AND epoch = ? AND owner = ?')
  const save = database.prepare(
    'INSERT OR REPLACE INTO snapshots (thread, name, seq, text) VALUES (?, ?, ?, ?)',
  )

  function partOf(threadId: string, name: string) {
    const row = find.get(toColumn(threadId), toColumn(name)) as { seq: number; text: string } | undefined
    return row && { seq: row.seq, state: fromColumn(row.text) }
  }

  return {
    snapshot: (threadId) => read('store.snapshot', () => partOf(threadId, head)),

    snapshotPart: (threadId, name) =>
      read('store.snapshotPart', () => partOf(threadId, `part/${name}`)?.state),

    saveSnapshot: ({ threadId, epoch, owner }, snapshot) => {
      // A commit that found the file locked is tried again.
      const parts = [...snapshot.parts]
      return writeLater('store.saveSnapshot', () => {
        const row = owned.get(toColumn(threadId), epoch, toColumn(owner))
        if (!row) return 'fenced'
        for (const [name, text] of parts)
          save.run(row.n as number, toColumn(`part/${name}`), 0, toColumn(text))
        if (snapshot.head) save.run(row.n as number, head, snapshot.head.seq, toColumn(snapshot.head.state))
        return 'saved'
      })
    },
  }
}
