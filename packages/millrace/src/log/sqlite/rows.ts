import { crc32 } from 'node:zlib'
import type { ThreadInfo } from '../../protocol/index.ts'
import { MillraceError, PROTOCOL_VERSION, upgradeEvent } from '../../protocol/index.ts'
import type { PackedEntry } from '../entries.ts'
import { entryUpTo, firstOf } from '../entries.ts'
import { isExpired } from '../lease.ts'
import { byteLength } from '../usage.ts'
import { damaged } from './failure.ts'

export interface EntryRow {
  readonly seq: number
  readonly first: number | null
  readonly at: number
  readonly version: number
  readonly event: string
  readonly cuts: string | null
  /** Null in rows of older versions. */
  readonly sum: number | null
  /** The last number that a fork shares of it. */
  readonly upTo?: number
}

/** The entries of a thread (its `n`) up to a number. */
export interface LogSegment {
  readonly thread: number
  readonly upTo: number
}

type Texts = Pick<EntryRow, 'event' | 'cuts'>

export interface ThreadRow {
  readonly id: string
  readonly agent: string
  readonly user: string | null
  readonly metadata: string | null
  readonly forked_id: string | null
  readonly forked_seq: number | null
  readonly created_at: number
  readonly updated_at: number
  readonly head: number
  readonly place: number
  readonly resting: 'idle' | 'waiting'
  readonly due: number | null
  readonly owner: string | null
  readonly title: string | null
  readonly bytes: number
  readonly lease_ms: number | null
}

/** Where a row was found, for error messages. */
export interface Origin {
  readonly op: string
  readonly path: string
  readonly threadId: string
}

/**
 * Encodes text for a column. SQLite stores UTF-8, which has no lone surrogates (two different ones
 * would become the same), and some of its functions stop at a NUL. Such text is stored as JSON, and
 * so is text that looks like JSON.
 */
export function toColumn(text: string): string {
  return text.isWellFormed() && !text.includes('\0') && !text.startsWith('"') ? text : JSON.stringify(text)
}

export function fromColumn(column: string): string {
  return column.startsWith('"') ? JSON.parse(column) : column
}

export function optional(text: string | undefined): string | null {
  return text === undefined ? null : toColumn(text)
}

/**
 * The values of an entry's columns after the thread's, and the length of its text. JSON escapes
 * lone surrogates, so they survive.
 */
export function packedColumns({ seq, from, at, event, cuts }: PackedEntry) {
  const text = { event: JSON.stringify(event), cuts: cuts ? JSON.stringify(cuts) : null }
  return {
    columns: [seq, from ?? null, at, text.event, text.cuts, checksum(text)] as const,
    bytes: textBytes(text),
  }
}

export function textBytes({ event, cuts }: Texts): number {
  return byteLength(event) + (cuts === null ? 0 : byteLength(cuts))
}

function checksum({ event, cuts }: Texts): number {
  return cuts === null ? crc32(event) : crc32(cuts, crc32(event))
}

function entryOf(row: EntryRow, { op, path, threadId }: Origin): PackedEntry {
  const { seq, first, at, version, event, cuts } = row
  const fail = (message: string, cause?: unknown) =>
    new MillraceError({ op, code: 'store_error', message, cause })
  if (version > PROTOCOL_VERSION)
    throw fail(
      `entry ${seq} of thread '${threadId}' was written with protocol version ${version}, but this package reads up to ${PROTOCOL_VERSION}: update millrace`,
    )
  if (row.sum !== null && row.sum !== checksum(row))
    throw fail(damaged(`'${path}'`, `entry ${seq} of thread '${threadId}' has a wrong checksum`))
  try {
    return {
      seq,
      ...(first !== null && { from: first }),
      at,
      event: version < PROTOCOL_VERSION ? upgradeEvent(JSON.parse(event)) : JSON.parse(event),
      ...(cuts !== null && { cuts: JSON.parse(cuts) }),
    }
  } catch (cause) {
    throw fail(damaged(`'${path}'`, `entry ${seq} of thread '${threadId}' is not valid JSON`), cause)
  }
}

/**
 * Parses consecutive rows, each when it is read. The first one must extend beyond `after`. A gap is
 * reported as damage, so that no reader ever gets a log with one.
 */
export function* entriesOf(rows: Iterable<EntryRow>, after: number, origin: Origin): Generator<PackedEntry> {
  let next = after + 1
  let isFirst = true
  for (const row of rows) {
    const entry = entryUpTo(entryOf(row, origin), row.upTo ?? row.seq)
    const first = firstOf(entry)
    if (isFirst ? first > next : first !== next) throw gap(next, origin)
    isFirst = false
    next = entry.seq + 1
    yield entry
  }
}

export function gap(seq: number, { op, path, threadId }: Origin): MillraceError {
  return new MillraceError({
    op,
    code: 'store_error',
    message: damaged(`'${path}'`, `entry ${seq} of thread '${threadId}' is missing`),
  })
}

export function infoOf(row: ThreadRow, now: number): ThreadInfo {
  const { user, metadata, forked_id, forked_seq, due, title } = row
  const busy = row.owner !== null && due !== null && !isExpired(due, row.lease_ms ?? Infinity, now)
  return {
    id: fromColumn(row.id),
    agent: fromColumn(row.agent),
    ...(title !== null && { title: fromColumn(title) }),
    ...(user !== null && { user: fromColumn(user) }),
    ...(metadata !== null && { metadata: JSON.parse(metadata) }),
    ...(forked_id !== null && { forkedFrom: { id: fromColumn(forked_id), seq: forked_seq ?? 0 } }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    head: row.head,
    status: due === null ? row.resting : busy ? 'running' : 'queued',
  }
}
