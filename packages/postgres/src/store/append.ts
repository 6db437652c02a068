import type { Entry } from 'millrace'
import { badBatch, byteLength, inputsTakenBy, patchesIn, sumOf, toColumn, tokensOf } from 'millrace/internal'
import type { AppendResult, Batch, ThreadStore } from 'millrace/store'
import { int4s, int8s, texts } from './arrays.ts'
import type { Query } from './database.ts'
import { threadPatcher } from './metadata.ts'
import type { StoreParts } from './parts.ts'
import { countSpending, spendingJson } from './spending.ts'

interface AppendedRow {
  readonly held: boolean
  /** Whether the lease was valid before; null if the thread is held. */
  readonly present: boolean | null
  readonly batch: number
  readonly batch_head: number
  readonly batch_at: number
  readonly grown: number | null
  readonly ms: number
}

/** Writing what runs append. */
export function appending({ database, sql, now, changes }: StoreParts) {
  const { table, time, nextPlace, countMinute, addEntries } = sql
  const ms = '(SELECT ms FROM now)'
  const op = 'store.append'
  const patchThread = threadPatcher(sql)

  /**
   * One statement for all batches. The fence is a join with the lease; a row that another
   * transaction has locked is skipped. Most batches spend nothing, and run without `more`.
   */
  const appendText = (more = '') => `
    WITH ${time},
    asked AS (
      SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::integer[], $6::integer[], $7::bigint[],
        $8::integer[], $9::bigint[]) WITH ORDINALITY AS a (id, epoch, owner, number, events, bytes, taken, tokens, i)
    ),
    held AS (
      SELECT a.i, a.number, a.events, a.bytes, a.taken, a.tokens, h.id, h.n, h.batch, h.batch_head, h.batch_at
      FROM asked AS a JOIN ${table('heads')} AS h ON h.id = a.id AND h.epoch = a.epoch AND h.owner = a.owner
      FOR UPDATE OF h SKIP LOCKED
    ),
    grown AS (
      UPDATE ${table('heads')} AS h SET head = h.head + held.events, updated_at = ${ms}, changed_at = ${ms},
        changed = ${nextPlace}, bytes = h.bytes + held.bytes, queued = greatest(0, h.queued - held.taken),
        batch = held.number, batch_head = h.head + held.events, batch_at = ${ms}, run_bytes = h.run_bytes + held.bytes,
        run_waiting = h.run_waiting - least(h.queued, held.taken), ${countMinute('held.bytes', 'held.tokens')}
      FROM held WHERE h.id = held.id AND held.events > 0 AND held.number = held.batch + 1
      RETURNING held.i, h.n, h.head, held.events, h.agent, h."user"
    ),
    written AS (${addEntries(`
      SELECT g.n AS thread, g.head - g.events + e.place AS seq, NULL::integer AS first, ${ms} AS at, e.event, NULL AS cuts
      FROM grown AS g JOIN unnest($10::integer[], $11::integer[], $12::text[]) AS e (i, place, event) ON e.i = g.i`)})${more}
    SELECT held.i IS NOT NULL AS held, held.batch, held.batch_head, held.batch_at, g.head AS grown, ${ms} AS ms,
      CASE WHEN held.i IS NULL THEN EXISTS (
        SELECT FROM ${table('heads')} AS h WHERE h.id = a.id AND h.epoch = a.epoch AND h.owner = a.owner) END AS present
    FROM asked AS a LEFT JOIN held ON held.i = a.i LEFT JOIN grown AS g ON g.i = a.i ORDER BY a.i`

  const plainText = appendText()
  const spendingText = appendText(`,
    ${countSpending(sql, '$13')},
    freed AS (
      DELETE FROM ${table('holds')} AS o USING held JOIN unnest($14::integer[], $15::text[]) AS f (i, id) ON f.i = held.i
      WHERE o.thread = held.n AND o.id = f.id
    )`)

  /** Changes the metadata of the threads that were written, in the same transaction. */
  async function appendAndPatch(batches: readonly Batch[], append: (query: Query) => Promise<AppendedRow[]>) {
    return database.transaction(op, async (query) => {
      const rows = await append(query)
      for (const [index, { lease, events }] of batches.entries()) {
        const patches = rows[index]?.grown === null ? [] : patchesIn(events)
        if (patches.length > 0) await patchThread(query, toColumn(lease.threadId), patches)
      }
      return rows
    })
  }

  function resultOf(row: AppendedRow, { lease, number, events }: Batch): AppendResult {
    if (!row.held) return row.present ? 'busy' : 'fenced'
    const { batch, batch_head, batch_at, grown, ms } = row
    if (grown === null && events.length > 0 && (number !== batch || number < 1))
      throw badBatch(lease.threadId, number, batch)
    const [end, at] = grown === null ? [batch_head, batch_at] : [grown, ms]
    return events.map((event, place) => ({ seq: end - events.length + 1 + place, at, event }))
  }

  return {
    async append(batches) {
      await database.ready(op)
      const events = batches.map((batch) => batch.events.map((event) => JSON.stringify(event)))
      const spending = spendingJson(batches)
      const freed = batches.map((batch) => batch.freed ?? [])
      const values = [
        now(),
        texts(batches.map(({ lease }) => toColumn(lease.threadId))),
        int8s(batches.map(({ lease }) => lease.epoch)),
        texts(batches.map(({ lease }) => toColumn(lease.owner))),
        int4s(batches.map(({ number }) => number)),
        int4s(events.map(({ length }) => length)),
        int8s(events.map((some) => sumOf(some, byteLength))),
        int4s(batches.map((batch) => sumOf(batch.events, inputsTakenBy))),
        int8s(batches.map((batch) => sumOf(batch.events, tokensOf))),
        int4s(events.flatMap((some, index) => some.map(() => index + 1))),
        int4s(events.flatMap((some) => some.map((_, place) => place + 1))),
        texts(events.flat()),
      ]
      const more = [
        spending ?? '[]',
        int4s(freed.flatMap((ids, index) => ids.map(() => index + 1))),
        texts(freed.flat().map(toColumn)),
      ]
      const isPlain = !spending && freed.every((ids) => ids.length === 0)
      const append = (query: Query): Promise<AppendedRow[]> =>
        isPlain ? query(plainText, values) : query(spendingText, [...values, ...more])
      const hasPatches = batches.some((batch) => patchesIn(batch.events).length > 0)
      const rows = hasPatches
        ? await appendAndPatch(batches, append)
        : await append((text, values) => database.query(op, text, values))
      const results = batches.map((batch, index) => resultOf(rows[index] as AppendedRow, batch))
      for (const [index, result] of results.entries()) {
        const last = Array.isArray(result) ? (result.at(-1) as Entry | undefined) : undefined
        if (last) changes.grown((batches[index] as Batch).lease.threadId, last.seq)
      }
      return results
    },
  } satisfies Partial<ThreadStore>
}
