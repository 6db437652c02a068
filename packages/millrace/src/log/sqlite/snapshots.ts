import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Lease, ThreadStore } from '../store.ts'
import type { Commits, Reads } from './commits.ts'
import type { LogSegment } from './rows.ts'
import { fromColumn, toColumn } from './rows.ts'
import type { ReadStatements } from './statements.ts'

/** Zero-padded, so that names sort by number. Numbers have ten digits at most. */
const headName = (seq: number) => `head/${String(seq).padStart(10, '0')}`

const partName = (name: string) => toColumn(`part/${name}`)

export function snapshotReader(
  database: DatabaseSync,
  statements: ReadStatements,
  { read }: Pick<Reads, 'read'>,
): Pick<ThreadStore, 'snapshot' | 'snapshotPart'> {
  const lastHead = database.prepare(`
    SELECT seq, text FROM snapshots WHERE thread = ? AND name BETWEEN 'head/' AND ? ORDER BY name DESC LIMIT 1`)
  const getPart = database.prepare('SELECT seq, text FROM snapshots WHERE thread = ? AND name = ?')

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
  }
}

/** A snapshot whose parts can be written more than once. */
export interface WholeSnapshot {
  readonly parts: readonly (readonly [name: string, text: string])[]
  readonly head?: { readonly seq: number; readonly state: string } | undefined
}

export function snapshotWriter(database: DatabaseSync, { writeLater }: Pick<Commits, 'writeLater'>) {
  const owned = database.prepare('SELECT n FROM threads WHERE id = ? AND epoch = ? AND owner = ?')
  const save = database.prepare(
    'INSERT OR REPLACE INTO snapshots (thread, name, seq, text) VALUES (?, ?, ?, ?)',
  )

  return ({ threadId, epoch, owner }: Lease, { parts, head }: WholeSnapshot) =>
    writeLater('store.saveSnapshot', () => {
      const row = owned.get(toColumn(threadId), epoch, toColumn(owner))
      if (!row) return 'fenced'
      for (const [name, text] of parts) save.run(row.n as number, partName(name), 0, toColumn(text))
      if (head) save.run(row.n as number, headName(head.seq), head.seq, toColumn(head.state))
      return 'saved'
    })
}
