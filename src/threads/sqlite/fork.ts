import type { ThreadEvent } from '../../protocol/index.ts'
import { MillraceError } from '../../protocol/index.ts'
import type { CopiedLog } from '../copied-log.ts'
import { addToCopy, emptyCopy, endOfCopy } from '../copied-log.ts'
import type { PackedEntry } from '../entries.ts'
import { entriesBetween } from '../entries.ts'
import type { NewThread, Quotas } from '../store.ts'
import { badFork, threadNotFound } from '../store-errors.ts'
import { checkQuotas } from '../usage.ts'
import type { CallerRows } from './callers.ts'
import type { EntryRow, Origin } from './rows.ts'
import { entriesOf, gap, packedColumns, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** So many rows, or so much text, are copied in one commit, which takes a few milliseconds. */
const sliceLength = 200
const sliceBytes = 128 * 1024

export interface Fork {
  readonly thread: NewThread
  readonly at: number
  readonly quotas: Quotas | undefined
  readonly origin: Origin
}

/** How far a fork has come. A new one with each slice, since a commit may have to be repeated. */
export interface Copy {
  /** Its row, which is invisible. */
  readonly n: number
  /** The id of the row until it is complete. No thread can have it: text that begins like this is kept as JSON. */
  readonly id: string
  readonly source: number
  readonly caller: number | null
  readonly copied: number
  readonly lastAt: number
  readonly log: CopiedLog
}

interface CopiedRow {
  readonly seq: number
  readonly first: number | null
  readonly at: number
  readonly size: number
  /** Null where nothing in it matters for the fork. */
  readonly event: string | null
}

interface Context {
  readonly statements: Statements
  readonly callers: CallerRows
  readonly time: number
}

export function copySlice({ statements, callers, time }: Context, fork: Fork, copy: Copy): Copy {
  const { at, quotas, origin } = fork
  const { n, source, caller } = copy
  const { op, threadId } = origin
  const found = statements.headOf.get(toColumn(threadId)) as { n: number; head: number } | undefined
  if (found?.n !== source) throw threadNotFound(op, threadId)
  if (at > found.head) throw badFork(op, threadId, { at, head: found.head })
  if (caller !== null && quotas)
    checkQuotas(callers.usage(caller, time), quotas, ['storedBytes'], { op, time })
  let { copied, lastAt, log } = copy
  let bytes = 0
  const whole: number[] = []
  const cut: number[] = []
  for (const found of statements.rowsToCopy.iterate({ thread: source, after: copied, most: sliceLength })) {
    const row = found as unknown as CopiedRow
    const first = row.first ?? row.seq
    if (copied >= at || bytes >= sliceBytes) break
    if (first > copied + 1) throw gap(copied + 1, origin)
    // The log may have been packed since the slice before, so that a row reaches back into it.
    const isWhole = first > copy.copied && row.seq <= at
    if (isWhole) whole.push(row.seq)
    else cut.push(row.seq)
    if (row.event !== null) log = addToCopy(log, JSON.parse(row.event) as ThreadEvent)
    if (isWhole) bytes += row.size
    copied = Math.min(row.seq, at)
    lastAt = row.at
  }
  if (copied === copy.copied && copied < at) throw gap(copied + 1, origin)
  const parts = cut.flatMap((seq) => partsOf(statements, { seq, source, after: copy.copied, at }, origin))
  // Nothing is written before this: the rest cannot be refused.
  if (!statements.headOf.get(copy.id)) throw removed(op)
  const [from, to] = [whole[0], whole.at(-1)]
  if (from !== undefined && to !== undefined) statements.copyRows.run({ copy: n, thread: source, from, to })
  for (const part of parts) {
    const packed = packedColumns(part)
    statements.addPacked.run(n, ...packed.columns)
    bytes += packed.bytes
  }
  statements.growCopy.run(time, bytes, n)
  callers.count(caller, { bytes, waiting: 0 }, time)
  const last = parts.findLast(({ seq }) => seq === copied)
  return { ...copy, copied, lastAt: last?.at ?? lastAt, log }
}

/** Of a row that is copied in part. */
function partsOf(
  statements: Statements,
  { seq, source, after, at }: { seq: number; source: number; after: number; at: number },
  origin: Origin,
): PackedEntry[] {
  const row = statements.getEntry.get(source, seq) as unknown as EntryRow
  return [...entriesOf([row], seq - 1, origin)].flatMap((entry) => entriesBetween(entry, after, at))
}

/** What is left to do for a fork that is copied: the entry that ends it, if one is needed, and its last number. */
export function lastOfCopy({ copied, lastAt, log }: Copy) {
  const end = log.isRunning ? endOfCopy(copied + 1, lastAt) : undefined
  return { end, head: end?.seq ?? copied, queued: Math.max(0, log.inputs - log.heard) }
}

export function beginCopy(copy: Pick<Copy, 'n' | 'id' | 'source' | 'caller'>): Copy {
  return { ...copy, copied: 0, lastAt: 0, log: emptyCopy }
}

export function removed(op: string): MillraceError {
  const message = 'the fork took so long that it was taken for abandoned: try again'
  return new MillraceError({ op, code: 'store_error', message, retryable: true })
}
