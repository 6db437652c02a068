import type { Entry } from '../../protocol/index.ts'
import { readEntries } from '../entries.ts'
import { threadNotFound } from '../store-errors.ts'
import type { EntryRow, LogSegment, Origin } from './rows.ts'
import { entriesOf, gap, originIn, toColumn } from './rows.ts'
import type { ReadStatements } from './statements.ts'

/** A page ends after this much text, however few entries that is: a stuck reader holds one page. */
const pageChars = 256 * 1024

/** Reads logs, within a transaction or without. */
export function entryReader(sql: ReadStatements, path: string) {
  /** The segments with the entries of a thread after a number, in order. */
  function segmentsAfter(op: string, threadId: string, after: number): LogSegment[] {
    const segments = sql.segmentsAfter.all({ id: toColumn(threadId), after }) as unknown as LogSegment[]
    if (segments.length === 0) throw threadNotFound(op, threadId)
    return segments.reverse()
  }

  /** Yields one page of a log. */
  function* rowsAfter({ after, limit }: { after: number; limit: number }, origin: Origin) {
    const segments = segmentsAfter(origin.op, origin.threadId, after)
    let chars = 0
    let last = after
    for (const { thread, upTo } of segments)
      for (const statement of [sql.readSegment, sql.readTail])
        for (const found of last < upTo ? statement.iterate({ thread, after: last, limit }) : []) {
          const row = found as unknown as EntryRow
          if ((row.first ?? row.seq) > upTo) break
          yield row.seq > upTo ? { ...row, upTo } : row
          last = row.seq
          chars += row.event.length
          if (chars >= pageChars) return
        }
    if (chars === 0 && (segments.at(-1) as LogSegment).upTo > after) throw gap(after + 1, origin)
  }

  function readFrom(
    op: string,
    threadId: string,
    options: { readonly after: number; readonly limit: number; readonly split?: boolean | undefined },
  ): Entry[] {
    const origin = originIn(path, op, threadId)
    sql.beginRead.run()
    try {
      return readEntries(entriesOf(rowsAfter(options, origin), options.after, origin), options)
    } finally {
      sql.endRead.run()
    }
  }

  return { readFrom, segmentsAfter }
}
