import type { ThreadInfo } from 'millrace'
import type { PackedEntry, ThreadColumns } from 'millrace/internal'
import { infoOf as infoOfColumns, textsOf } from 'millrace/internal'
import type { Sql } from './sql.ts'

/** A row of `heads` with what the list shows of `threads`. */
export interface ThreadRow extends ThreadColumns {
  readonly background: boolean
  readonly status: ThreadInfo['status']
}

/** The columns of a row, from `heads AS h`, `threads AS t` and `now`. */
export const threadColumns = ({ expired }: Sql) => `
  h.id, h.agent, h."user", h.background, t.forked_id, t.forked_seq, t.created_at, h.updated_at, h.head,
  t.title, t.metadata, t.outcome, t.error, t.nanos,
  CASE WHEN h.owner IS NULL THEN CASE WHEN h.due IS NULL THEN h.resting ELSE 'queued' END
    WHEN ${expired} THEN 'queued' ELSE 'running' END AS status`

/** The columns of an entry, and the length of its text. */
export function packedColumns(entry: PackedEntry) {
  const { seq, from, at } = entry
  return { seq, first: from ?? null, at, ...textsOf(entry) }
}

export function infoOf(row: ThreadRow): ThreadInfo {
  return infoOfColumns(row, row.status)
}
