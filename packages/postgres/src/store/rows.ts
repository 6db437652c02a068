import type { ThreadInfo } from 'millrace'
import type { PackedEntry, ThreadColumns } from 'millrace/internal'
import { infoOf as infoOfColumns, textsOf } from 'millrace/internal'

/** A row of `heads` with what the list shows of `threads`. */
export interface ThreadRow extends ThreadColumns {
  readonly background: boolean
  readonly status: ThreadInfo['status']
}

/** The columns of an entry, and the length of its text. */
export function packedColumns(entry: PackedEntry) {
  const { seq, from, at } = entry
  return { seq, first: from ?? null, at, ...textsOf(entry) }
}

export function infoOf(row: ThreadRow): ThreadInfo {
  return infoOfColumns(row, row.status)
}
