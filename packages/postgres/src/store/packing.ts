import { PROTOCOL_VERSION } from 'millrace'
import type { EntryRow } from 'millrace/internal'
import { entriesOf, packEntries, sumOf, textBytes, threadNotFound, toColumn } from 'millrace/internal'
import type { ThreadStore } from 'millrace/store'
import type { Query } from './database.ts'
import type { StoreParts } from './parts.ts'
import { packedColumns } from './rows.ts'

/** How many entries, or how much text, one transaction processes. */
const sliceLength = 1000
const sliceBytes = 1024 * 1024

interface PackableRow extends EntryRow {
  /** Null if it is too large to be joined. */
  readonly event: string
}

/** Joins the deltas of logs. */
export function packing({ database, sql, now }: StoreParts) {
  const { table, time, count, lock } = sql
  const op = 'store.packDeltas'

  const lockText = `
    SELECT t.n, t.compacted, ${lock("'packing ' || t.n")}
    FROM ${table('heads')} AS h JOIN ${table('threads')} AS t ON t.n = h.n WHERE h.id = $1`
  const compactedText = `SELECT n, compacted FROM ${table('threads')} WHERE n = (SELECT n FROM ${table('heads')} WHERE id = $1)`
  /** From the entry that packing last ended with, since what follows may be joined to it. */
  const packableText = `
    WITH sized AS (
      SELECT *, sum(least(octet_length(event), ${sliceBytes})) OVER (ORDER BY seq) AS total FROM (
        SELECT seq, first, at, version, event, cuts FROM ${table('entries')}
        WHERE thread = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq LIMIT ${sliceLength}
      ) AS slice
    )
    SELECT seq, first, at, version, CASE WHEN octet_length(event) < ${sliceBytes} THEN event END AS event, cuts
    FROM sized WHERE total <= ${2 * sliceBytes} OR seq <= $2 + 1 ORDER BY seq`
  const deleteText = `DELETE FROM ${table('entries')} WHERE thread = $1 AND seq = ANY ($2::integer[])`
  const joinText = `
    UPDATE ${table('entries')} AS e SET first = j.first, version = ${PROTOCOL_VERSION}, event = j.event, cuts = j.cuts
    FROM unnest($2::integer[], $3::integer[], $4::text[], $5::text[]) AS j (seq, first, event, cuts)
    WHERE e.thread = $1 AND e.seq = j.seq`
  const shrinkText = `
    WITH ${time},
    shrunk AS (UPDATE ${table('heads')} SET bytes = bytes - $3 WHERE id = $2 RETURNING caller)
    ${count('SELECT caller, -$3::bigint AS bytes, 0 AS waiting, 0 AS minute_bytes, 0 AS minute_tokens FROM shrunk')}`
  const setCompacted = `UPDATE ${table('threads')} SET compacted = greatest(compacted, $2) WHERE n = $1`

  /** Returns false when there is nothing left to do up to `upTo`. */
  async function packSlice(threadId: string, upTo: number, query: Query): Promise<boolean> {
    const id = toColumn(threadId)
    const [, [thread]] = await Promise.all([
      query(lockText, [id]),
      // Read when no other process is packing any more.
      query<{ n: number; compacted: number }>(compactedText, [id]),
    ])
    if (!thread) throw threadNotFound(op, threadId)
    const { n, compacted } = thread
    const all = await query<PackableRow>(packableText, [n, compacted, upTo])
    const rows = firstRun(all)
    const end = rows.at(-1)?.seq ?? all[0]?.seq ?? 0
    if (end <= compacted) {
      const next = all.find(({ seq }) => seq > compacted)
      if (!next) return false
      // The entry at the end of what is packed is too large, or the next one is.
      await query(setCompacted, [n, next.seq])
      return true
    }
    const after = (rows[0]?.first ?? rows[0]?.seq ?? 1) - 1
    const before = [...entriesOf(rows, after, { op, threadId, damaged: database.damaged })]
    const kept = new Set(before)
    const joined = packEntries(before)
      .filter((entry) => !kept.has(entry))
      .map(packedColumns)
    const gone = rows.filter(({ seq }) =>
      joined.some((into) => seq >= (into.first ?? into.seq) && seq < into.seq),
    )
    const last = rows.filter(({ seq }) => joined.some((into) => seq === into.seq))
    const saved = sumOf([...gone, ...last], textBytes) - sumOf(joined, ({ bytes }) => bytes)
    if (joined.length > 0)
      await Promise.all([
        query(deleteText, [n, gone.map(({ seq }) => seq)]),
        query(joinText, [
          n,
          joined.map(({ seq }) => seq),
          joined.map(({ first }) => first),
          joined.map(({ event }) => event),
          joined.map(({ cuts }) => cuts),
        ]),
        query(shrinkText, [now(), id, saved]),
      ])
    await query(setCompacted, [n, end])
    return true
  }

  return {
    async packDeltas(threadId, upTo) {
      await database.ready(op)
      while (await database.transaction(op, (query) => packSlice(threadId, upTo, query))) {}
    },
  } satisfies Partial<ThreadStore>
}

/** Consecutive rows that can be joined, up to one that is too large. */
function firstRun(rows: readonly PackableRow[]): PackableRow[] {
  const large = rows.findIndex(({ event }) => event === null)
  return rows.slice(0, large < 0 ? rows.length : large)
}
