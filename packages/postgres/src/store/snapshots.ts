import { fromColumn, toColumn } from 'millrace/internal'
import type { ThreadStore } from 'millrace/store'
import type { StoreParts } from './parts.ts'

/** Zero-padded, so that names sort by number. Numbers have ten digits at most. */
const headName = (seq: number) => `head/${String(seq).padStart(10, '0')}`

const partName = (name: string) => toColumn(`part/${name}`)

/** The highest number of an entry. */
const maxSeq = 2 ** 31 - 1

export function snapshots({ database, sql }: StoreParts) {
  const { table, segments } = sql
  /** Finds the first match in the thread, then in those it shares its log with. */
  const findHead = `
    WITH RECURSIVE ${segments('0')}
    SELECT f.seq, f.text FROM segments AS s CROSS JOIN LATERAL (
      SELECT seq, text FROM ${table('snapshots')}
      WHERE thread = s.n AND name BETWEEN 'head/' AND 'head/' || lpad(least($1::integer, s.up_to)::text, 10, '0')
      ORDER BY name DESC LIMIT 1
    ) AS f ORDER BY s.depth LIMIT 1`
  const findPart = `
    WITH RECURSIVE ${segments('0')}
    SELECT f.text FROM segments AS s JOIN ${table('snapshots')} AS f ON f.thread = s.n AND f.name = $1
    ORDER BY s.depth LIMIT 1`
  const saveText = `
    WITH held AS (SELECT n FROM ${table('heads')} WHERE id = $1 AND epoch = $2 AND owner = $3),
    saved AS (
      INSERT INTO ${table('snapshots')} (thread, name, seq, text)
      SELECT held.n, s.name, s.seq, s.text FROM held, unnest($4::text[], $5::integer[], $6::text[]) AS s (name, seq, text)
      ON CONFLICT (thread, name) DO UPDATE SET seq = excluded.seq, text = excluded.text
    )
    SELECT n FROM held`

  return {
    async snapshot(threadId, upTo = maxSeq) {
      const op = 'store.snapshot'
      await database.ready(op)
      const values = [Math.max(0, Math.min(maxSeq, upTo)), toColumn(threadId)]
      const [row] = await database.query<{ seq: number; text: string }>(op, findHead, values)
      return row && { seq: row.seq, state: fromColumn(row.text) }
    },

    async snapshotPart(threadId, name) {
      const op = 'store.snapshotPart'
      await database.ready(op)
      const [row] = await database.query<{ text: string }>(op, findPart, [partName(name), toColumn(threadId)])
      return row && fromColumn(row.text)
    },

    async saveSnapshot({ threadId, epoch, owner }, { parts, head }) {
      const op = 'store.saveSnapshot'
      await database.ready(op)
      // By name, since one statement cannot write the same row twice.
      const rows = new Map([...parts].map(([name, text]) => [partName(name), { seq: 0, text }]))
      if (head) rows.set(headName(head.seq), { seq: head.seq, text: head.state })
      const [held] = await database.query(op, saveText, [
        toColumn(threadId),
        epoch,
        toColumn(owner),
        [...rows.keys()],
        [...rows.values()].map(({ seq }) => seq),
        [...rows.values()].map(({ text }) => toColumn(text)),
      ])
      return held ? 'saved' : 'fenced'
    },
  } satisfies Partial<ThreadStore>
}
