import { PROTOCOL_VERSION } from '../../protocol/index.ts'
import { packEntries } from '../entries.ts'
import { threadNotFound } from '../store-errors.ts'
import type { EntryRow, Origin } from './rows.ts'
import { entriesOf, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** So many entries are looked at in one commit, which takes a millisecond or two: nothing else happens meanwhile. */
const sliceLength = 200

/**
 * Joins the deltas of one slice, from where the last one ended. Gives false when there is no more to do up to `upTo`.
 *
 * The last row of those that become one is the one that stays, so that whoever has read up to there finds the rest behind it.
 */
export function compactSlice(statements: Statements, upTo: number, origin: Origin): boolean {
  const thread = statements.compactedOf.get(toColumn(origin.threadId))
  if (!thread) throw threadNotFound(origin.op, origin.threadId)
  const { n, compacted } = thread as { n: number; compacted: number }
  const rows = statements.packable.all(n, compacted, upTo, sliceLength) as unknown as EntryRow[]
  const last = rows.at(-1)
  if (!last || last.seq <= compacted) return false
  const before = entriesOf(rows, Math.max(0, compacted - 1), origin)
  const kept = new Set(before)
  for (const { seq, from, event, cuts } of packEntries(before).filter((entry) => !kept.has(entry))) {
    const first = from ?? seq
    statements.deletePacked.run(n, first, seq)
    statements.packInto.run(first, PROTOCOL_VERSION, JSON.stringify(event), JSON.stringify(cuts), n, seq)
  }
  statements.setCompacted.run(last.seq, n)
  return rows.length === sliceLength
}
