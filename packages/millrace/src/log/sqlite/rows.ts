import { crc32 } from 'node:zlib'
import type { ThreadInfo } from '../../protocol/index.ts'
import type { PackedEntry } from '../entries.ts'
import { isExpired } from '../lease.ts'
import type { Origin, ThreadColumns } from '../rows.ts'
import * as rows from '../rows.ts'
import { damaged } from './failure.ts'

export type { Origin } from '../rows.ts'
export { gap, priorityOf, textBytes } from '../rows.ts'
export { fromColumn, optional, toColumn } from '../text-columns.ts'

export interface EntryRow extends rows.EntryRow {
  /** Null in rows of older versions. */
  readonly sum: number | null
}

/** The entries of a thread (its `n`) up to a number. */
export interface LogSegment {
  readonly thread: number
  readonly upTo: number
}

/** What a list needs of a thread. */
export interface ListedRow extends ThreadColumns {
  readonly place: number
  readonly resting: 'idle' | 'waiting'
  readonly due: number | null
  readonly owner: string | null
  readonly lease_ms: number | null
}

export interface ThreadRow extends ListedRow {
  readonly bytes: number
  readonly background: 0 | 1
}

export function originIn(path: string, op: string, threadId: string): Origin {
  return { op, threadId, damaged: (what) => damaged(`'${path}'`, what) }
}

/** The values of an entry's columns after the thread's, and the length of its text. */
export function packedColumns(entry: PackedEntry) {
  const { seq, from, at } = entry
  const { bytes, ...texts } = rows.textsOf(entry)
  return { columns: [seq, from ?? null, at, texts.event, texts.cuts, checksum(texts)] as const, bytes }
}

function checksum({ event, cuts }: Pick<EntryRow, 'event' | 'cuts'>): number {
  return cuts === null ? crc32(event) : crc32(cuts, crc32(event))
}

/** Parses consecutive rows, each when it is read. */
export function entriesOf(found: Iterable<EntryRow>, after: number, origin: Origin): Generator<PackedEntry> {
  return rows.entriesOf(checked(found, origin), after, origin)
}

function* checked(found: Iterable<EntryRow>, origin: Origin): Generator<EntryRow> {
  for (const row of found) {
    if (row.sum !== null && row.sum !== checksum(row))
      throw rows.damage(row.seq, 'has a wrong checksum', origin)
    yield row
  }
}

export function infoOf(row: ListedRow, now: number): ThreadInfo {
  const { due, owner, resting, lease_ms } = row
  const busy = owner !== null && due !== null && !isExpired(due, lease_ms ?? Infinity, now)
  return rows.infoOf(row, due === null ? resting : busy ? 'running' : 'queued')
}
