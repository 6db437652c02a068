import { packEntries } from '../entries.ts'
import { threadNotFound } from '../store-errors.ts'
import { sumOf } from '../usage.ts'
import type { CallerRows } from './callers.ts'
import type { EntryRow, Origin } from './rows.ts'
import { entriesOf, packedColumns, textBytes, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** So many entries are looked at in one commit, which takes a millisecond or two: nothing else happens meanwhile. */
const sliceLength = 200

/**
 * Joins the deltas of one slice, from where the last one ended. Gives false when there is no more to do up to `upTo`.
 *
 * The last row of those that become one is the one that stays, so that whoever has read up to there finds the rest behind it.
 */
export function compactSlice(
  { statements, callers, time }: { statements: Statements; callers: CallerRows; time: number },
  upTo: number,
  origin: Origin,
): boolean {
  const thread = statements.compactedOf.get(toColumn(origin.threadId))
  if (!thread) throw threadNotFound(origin.op, origin.threadId)
  const { n, compacted, caller } = thread as { n: number; compacted: number; caller: number | null }
  const rows = statements.packable.all(n, compacted, upTo, sliceLength) as unknown as EntryRow[]
  const last = rows.at(-1)
  if (!last || last.seq <= compacted) return false
  const before = entriesOf(rows, Math.max(0, compacted - 1), origin)
  const kept = new Set(before)
  let saved = 0
  for (const entry of packEntries(before).filter((packed) => !kept.has(packed))) {
    const { columns, bytes } = packedColumns(entry)
    const [seq, first, , ...texts] = columns
    const joined = rows.filter((row) => row.seq >= (first ?? seq) && row.seq <= seq)
    saved += sumOf(joined, textBytes) - bytes
    statements.deletePacked.run(n, first, seq)
    statements.packInto.run(first, ...texts, n, seq)
  }
  statements.setCompacted.run(last.seq, saved, n)
  callers.count(caller, { bytes: -saved, waiting: 0 }, time)
  return rows.length === sliceLength
}
