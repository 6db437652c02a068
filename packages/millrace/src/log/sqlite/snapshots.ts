import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ThreadStore } from '../store.ts'
import type { Commits } from './commits.ts'
import type { LogSegment } from './rows.ts'
import { fromColumn, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** Zero-padded, so that names sort by number. Numbers have ten digits at most. */
const headName = (seq: number) => `head/${String(seq).padStart(10, '0')}`

const partName = (name: string) => toColumn(`part/${name}`)

export function snapshots(
  database: DatabaseSync,
  statements: Statements,
  { read, writeLater }: Commits,
): Pick<ThreadStore, 'snapshot' | 'snapshotPart' | 'saveSnapshot'> {
  const lastHead = database.prepare(`
    SELECT seq, text FROM snapshots WHERE thread = ? AND name BETWEEN 'head/' AND ? ORDER BY name DESC LIMIT 1`)
  const getPart = database.prepare('SELECT seq, text FROM snapshots WHERE thread = ? AND name = ?')
  const owned = database.prepare('SELECT n FROM threads WHERE id = ? AND epoch = ? AND owner = ?')
  const save = database.prepare(
    'INSERT OR REPLACE INTO snapshots (thread, name, seq, text) VALUES (?, ?, ?, ?)',
  )

  /** Finds the first match in the thread, then in those it shares its log with. */
  function firstOf(threadId: string, find: StatementSync, nameFor: (upTo: number) => string) {
    const segments = statements.segmentsAfter.all({
      id: toColumn(threadId),
      after: 0,
    }) as unknown as LogSegment[]
    for (const { thread, upTo } of segments) {
      const row = find.get(thread, nameFor(upTo)) as { seq: number; text: string } | undefined
      if (row) return { seq: row.seq, state: fromColumn(row.text) }
    }
    return undefined
  }

  return {
    snapshot: (threadId, max = Infinity) =>
      read('store.snapshot', () =>
        firstOf(threadId, lastHead, (upTo) => headName(Math.max(0, Math.min(max, upTo)))),
      ),

    snapshotPart: (threadId, name) =>
      read('store.snapshotPart', () => firstOf(threadId, getPart, () => partName(name))?.state),

    saveSnapshot: ({ threadId, epoch, owner }, snapshot) => {
      // Copied, since the job runs again if the file was locked.
      const parts = [...snapshot.parts]
      return writeLater('store.saveSnapshot', () => {
        const row = owned.get(toColumn(threadId), epoch, toColumn(owner))
        if (!row) return 'fenced'
        for (const [name, text] of parts) save.run(row.n as number, partName(name), 0, toColumn(text))
        if (snapshot.head) {
          const { seq, state } = snapshot.head
          save.run(row.n as number, headName(seq), seq, toColumn(state))
        }
        return 'saved'
      })
    },
  }
}
