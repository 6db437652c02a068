import type { Outcome, ThreadInfo, ThreadStatus } from '../protocol/index.ts'
import { MillraceError, PROTOCOL_VERSION, toUsd, upgradeEvent } from '../protocol/index.ts'
import type { PackedEntry } from './entries.ts'
import { entryUpTo, firstOf } from './entries.ts'
import type { Priority } from './store.ts'
import { fromColumn } from './text-columns.ts'
import { byteLength } from './usage.ts'

// What all stores on a database do with their rows.

export interface EntryRow {
  readonly seq: number
  readonly first: number | null
  readonly at: number
  readonly version: number
  readonly event: string
  readonly cuts: string | null
  /** The last number that a fork shares of it. */
  readonly upTo?: number
}

type Texts = Pick<EntryRow, 'event' | 'cuts'>

/** What the info of a thread is made of, apart from its status. */
export interface ThreadColumns {
  readonly id: string
  readonly agent: string
  readonly user: string | null
  readonly metadata: string | null
  readonly forked_id: string | null
  readonly forked_seq: number | null
  readonly created_at: number
  readonly updated_at: number
  readonly head: number
  readonly title: string | null
  readonly outcome: Outcome | null
  readonly error: string | null
  /** Null until facts were saved. */
  readonly nanos: number | null
}

/** Where a row was found, for error messages. */
export interface Origin {
  readonly op: string
  readonly threadId: string
  /** What to do if something is wrong with the data. */
  readonly damaged: (what: string) => string
}

/** The texts of an entry, and their length. JSON escapes lone surrogates, so they survive. */
export function textsOf({ event, cuts }: Pick<PackedEntry, 'event' | 'cuts'>): Texts & { bytes: number } {
  const texts = { event: JSON.stringify(event), cuts: cuts ? JSON.stringify(cuts) : null }
  return { ...texts, bytes: textBytes(texts) }
}

export function textBytes({ event, cuts }: Texts): number {
  return byteLength(event) + (cuts === null ? 0 : byteLength(cuts))
}

function entryOf({ seq, first, at, version, event, cuts }: EntryRow, origin: Origin): PackedEntry {
  const { op, threadId } = origin
  if (version > PROTOCOL_VERSION) {
    const message = `entry ${seq} of thread '${threadId}' was written with protocol version ${version}, but this package reads up to ${PROTOCOL_VERSION}: update millrace`
    throw new MillraceError({ op, code: 'store_error', message })
  }
  try {
    return {
      seq,
      ...(first !== null && { from: first }),
      at,
      event: version < PROTOCOL_VERSION ? upgradeEvent(JSON.parse(event)) : JSON.parse(event),
      ...(cuts !== null && { cuts: JSON.parse(cuts) }),
    }
  } catch (cause) {
    throw damage(seq, 'is not valid JSON', origin, cause)
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

export function gap(seq: number, origin: Origin): MillraceError {
  return damage(seq, 'is missing', origin)
}

export function damage(
  seq: number,
  what: string,
  { op, threadId, damaged }: Origin,
  cause?: unknown,
): MillraceError {
  const message = damaged(`entry ${seq} of thread '${threadId}' ${what}`)
  return new MillraceError({ op, code: 'store_error', message, cause })
}

export function priorityOf({ background }: { readonly background: boolean | 0 | 1 }): Priority {
  return background ? 'batch' : 'interactive'
}

export function infoOf(row: ThreadColumns, status: ThreadStatus): ThreadInfo {
  const { user, metadata, forked_id, forked_seq, title, outcome, error, nanos } = row
  const rests = isResting(status)
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
    status,
    ...(rests && outcome !== null && { outcome }),
    ...(rests && error !== null && { error: fromColumn(error) }),
    ...(nanos !== null && { knownUsd: toUsd(nanos) }),
  }
}

/** Then the outcome of its last run is known. */
export function isResting(status: ThreadStatus): boolean {
  return status === 'idle' || status === 'waiting'
}
