import {
  byteLength,
  checkQuotas,
  fromColumn,
  inputQuotas,
  isWaitingInput,
  optional,
  patchesIn,
  priorityOf,
  threadNotFound,
  toColumn,
} from 'millrace/internal'
import type { ThreadStore } from 'millrace/store'
import { threadPatcher } from './metadata.ts'
import type { StoreParts } from './parts.ts'
import type { ReadOne } from './reads.ts'

/** Writing what comes from outside of runs. */
export function signaling({ readOne, ...parts }: StoreParts & { readonly readOne: ReadOne }) {
  const { database, sql, now, changes, readUsage } = parts
  const { table, time, nextPlace, count, countMinute, addEntries } = sql

  const patchThread = threadPatcher(sql)

  const lockForSignal = `
    WITH ${time}
    SELECT h.n, h.caller, h.agent, h.background, ms FROM ${table('heads')} AS h, now WHERE h.id = $2 FOR UPDATE OF h`
  const findSignal = `
    SELECT s.seq, t.title IS NULL AS untitled
    FROM ${table('heads')} AS h JOIN ${table('threads')} AS t ON t.n = h.n
    LEFT JOIN ${table('signals')} AS s ON s.thread = h.n AND s.key = $2 WHERE h.id = $1`
  const setLabel = `UPDATE ${table('threads')} SET title = $2, search = $3 WHERE n = $1`
  const signalText = `
    WITH ${time}, place AS (SELECT ${nextPlace} AS p),
    grown AS (
      UPDATE ${table('heads')} AS h SET head = head + 1, updated_at = ms, changed_at = ms, changed = p, bytes = bytes + $5, queued = queued + $6,
        listed = CASE WHEN owner IS NULL THEN p ELSE listed END,
        due = CASE WHEN owner IS NULL THEN coalesce(due, ms) ELSE due END,
        run_bytes = run_bytes + CASE WHEN owner IS NULL THEN 0 ELSE $5 END,
        run_waiting = run_waiting + CASE WHEN owner IS NULL THEN 0 ELSE $6 END,
        ${countMinute('CASE WHEN owner IS NULL THEN 0 ELSE $5 END', '0')}
      FROM now, place WHERE id = $2 RETURNING n, head, caller, owner IS NOT NULL AS owned
    ),
    written AS (${addEntries('SELECT n AS thread, head AS seq, NULL::integer AS first, ms AS at, $4::text AS event, NULL AS cuts FROM grown, now')}),
    keyed AS (INSERT INTO ${table('signals')} (thread, key, seq) SELECT n, $3, head FROM grown),
    counted AS (${count(`
      SELECT caller, $5::bigint AS bytes, $6::integer AS waiting, $5::bigint AS minute_bytes, 0 AS minute_tokens FROM grown WHERE NOT owned`)})
    SELECT head, owned, ms FROM grown, now`

  return {
    async signal(threadId, key, event, { quotas, label, relabel } = {}) {
      const op = 'store.signal'
      await database.ready(op)
      const id = toColumn(threadId)
      const text = JSON.stringify(event)
      const result = await database.transaction(op, async (query, commit) => {
        const [[thread], [known]] = await Promise.all([
          query<{ n: number; caller: number; agent: string; background: boolean; ms: number }>(
            lockForSignal,
            [now(), id],
          ),
          query<{ seq: number | null; untitled: boolean }>(findSignal, [id, toColumn(key)]),
        ])
        if (!thread || !known) throw threadNotFound(op, threadId)
        const { n, caller, ms } = thread
        const about = { agent: fromColumn(thread.agent), priority: priorityOf(thread) }
        if (known.seq !== null) {
          const { entry } = await readOne(query, op, threadId, known.seq)
          return { ...about, entry, repeated: true, owned: true }
        }
        if (caller !== 0 && quotas)
          checkQuotas(await readUsage(query, caller), quotas, inputQuotas, { op, time: ms })
        const isSet = label && (known.untitled || relabel)
        const labeled = isSet && query(setLabel, [n, optional(label.title), label.search])
        const patches = patchesIn([event])
        if (patches.length > 0) {
          await labeled
          await patchThread(query, id, patches)
        }
        const values = [now(), id, toColumn(key), text, byteLength(text), isWaitingInput(event) ? 1 : 0]
        const [[written]] = await Promise.all([
          commit<{ head: number; owned: boolean; ms: number }>(signalText, values),
          labeled,
        ])
        const { head, owned, ms: at } = written as { head: number; owned: boolean; ms: number }
        return { ...about, entry: { seq: head, at, event }, repeated: false, owned }
      })
      const { owned, ...signaled } = result
      if (!signaled.repeated) changes.grown(threadId, signaled.entry.seq)
      if (!owned) changes.runnable()
      return signaled
    },
  } satisfies Partial<ThreadStore>
}
