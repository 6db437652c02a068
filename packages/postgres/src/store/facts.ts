import { optional, toColumn } from 'millrace/internal'
import type { ThreadFacts, ThreadStore } from 'millrace/store'
import { int4s, texts } from './arrays.ts'
import type { StoreParts } from './parts.ts'
import type { Sql } from './sql.ts'

/**
 * `WITH` items that save the facts of the thread in `held`, a part of its row of `heads`. Their
 * values start with the parameter `first`.
 */
export function saveFacts({ table }: Sql, first: number): string {
  const value = (index: number) => `$${first + index}`
  return `
    stated AS (
      UPDATE ${table('threads')} AS t SET outcome = ${value(0)}, error = ${value(1)}, nanos = ${value(2)}::bigint
      FROM held WHERE t.n = held.n
    ),
    used AS (
      INSERT INTO ${table('tools')} (thread, name) SELECT held.n, name FROM held, unnest(${value(3)}::text[]) AS name
      ON CONFLICT DO NOTHING
    ),
    said AS (
      INSERT INTO ${table('texts')} (thread, seq, search, text)
      SELECT held.n, s.seq, s.search, s.text
      FROM held, unnest(${value(4)}::integer[], ${value(5)}::text[], ${value(6)}::text[]) AS s (seq, search, text)
      WHERE s.seq > held.base_seq
      ON CONFLICT DO NOTHING
    )`
}

export function factValues(facts: ThreadFacts): unknown[] {
  return [
    facts.outcome ?? null,
    optional(facts.error),
    facts.nanos,
    texts(facts.tools.map(toColumn)),
    int4s(facts.texts.map(({ seq }) => seq)),
    texts(facts.texts.map(({ search }) => search)),
    texts(facts.texts.map(({ text }) => text)),
  ]
}

/** Saving facts during a run. */
export function savingFacts({ database, sql }: StoreParts) {
  // The lock keeps the thread from being deleted, and its rows from being removed, before this ends.
  const saveText = `
    WITH held AS (
      SELECT n, base_seq FROM ${sql.table('heads')} WHERE id = $1 AND epoch = $2 AND owner = $3 FOR KEY SHARE
    ), ${saveFacts(sql, 4)}
    SELECT FROM held`

  return {
    async saveFacts({ threadId, epoch, owner }, facts) {
      const op = 'store.saveFacts'
      await database.ready(op)
      const values = [toColumn(threadId), epoch, toColumn(owner), ...factValues(facts)]
      const [held] = await database.query(op, saveText, values)
      return held ? 'saved' : 'fenced'
    },
  } satisfies Partial<ThreadStore>
}
