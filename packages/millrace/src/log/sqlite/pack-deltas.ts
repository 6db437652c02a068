import { packEntries } from '../entries.ts'
import { threadNotFound } from '../store-errors.ts'
import { sumOf } from '../usage.ts'
import type { CallerRows } from './callers.ts'
import type { EntryRow, Origin } from './rows.ts'
import { entriesOf, packedColumns, textBytes, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'
import { moveTailOf } from './tail.ts'

/**
 * How many entries, or how much text, one commit processes. It takes a millisecond or two, and
 * blocks everything else.
 */
const sliceLength = 200
const sliceChars = 256 * 1024

interface ThreadToPack {
  readonly n: number
  readonly compacted: number
  readonly caller: number | null
}

/**
 * Joins the deltas of one slice, from where the last one ended. Returns false when there is nothing
 * left to do up to `upTo`.
 *
 * Of the rows that become one, the last is kept, so that a reader that has read up to there finds
 * the rest after it.
 */
export function packSlice(
  { statements, callers, time }: { statements: Statements; callers: CallerRows; time: number },
  upTo: number,
  origin: Origin,
): boolean {
  const thread = statements.compactedOf.get(toColumn(origin.threadId)) as unknown as ThreadToPack | undefined
  if (!thread) throw threadNotFound(origin.op, origin.threadId)
  const { n, compacted, caller } = thread
  moveTailOf(statements, n)
  const { rows, end, more } = rowsToPack(statements, thread, upTo)
  if (end <= compacted) return false
  const after = (rows[0]?.first ?? rows[0]?.seq ?? 1) - 1
  const before = [...entriesOf(rows, after, origin)]
  const kept = new Set(before)
  let saved = 0
  for (const entry of packEntries(before).filter((packed) => !kept.has(packed))) {
    const { columns, bytes } = packedColumns(entry)
    const [seq, first, , ...texts] = columns
    const joined = rows.filter((row) => row.seq >= (first ?? seq) && row.seq <= seq)
    saved += sumOf(joined, textBytes) - bytes
    statements.deletePacked.run({ thread: n, from: first, before: seq })
    statements.packInto.run(first, ...texts, n, seq)
  }
  statements.setCompacted.run(end, saved, n)
  callers.count(caller, { bytes: -saved, waiting: 0 }, time)
  return more
}

/** Reads consecutive rows. An entry too large to be joined is not even read, and ends the slice. */
function rowsToPack(statements: Statements, { n, compacted }: ThreadToPack, upTo: number) {
  const rows: EntryRow[] = []
  let [end, count, chars] = [compacted, 0, 0]
  for (const found of statements.packable.iterate({
    ...{ thread: n, from: compacted, to: upTo },
    ...{ longest: sliceChars, most: sliceLength },
  })) {
    const row = found as unknown as EntryRow & { event: string | null }
    count++
    end = row.seq
    if (row.event === null) {
      if (rows.length > 0) return { rows, end, more: true }
      continue
    }
    rows.push(row as EntryRow)
    chars += row.event.length
    if (chars > sliceChars && row.seq > compacted) return { rows, end, more: true }
  }
  return { rows, end, more: count === sliceLength }
}
