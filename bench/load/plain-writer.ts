import type { ThreadEvent } from 'millrace'
import pg from 'pg'

/** Events for the log of one thread. */
export interface PlainBatch {
  readonly thread: string
  readonly events: readonly ThreadEvent[]
}

/** The table of entries as `postgresStore` has it. */
const tableText = `
  SELECT pg_advisory_xact_lock(1);
  CREATE TABLE IF NOT EXISTS entries (
    thread bigint NOT NULL,
    seq integer NOT NULL,
    first integer,
    at bigint NOT NULL,
    version smallint NOT NULL,
    event text NOT NULL,
    cuts text,
    PRIMARY KEY (thread, seq)
  )`

/** Faster than a list of VALUES, which has to be parsed for each number of rows. */
const insertText = `
  INSERT INTO entries (thread, seq, at, version, event)
  SELECT thread, seq, $4, 1, event FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS e (thread, seq, event)`

/**
 * The least that a log in PostgreSQL takes: one connection, and one INSERT of many rows for each
 * group of batches, durable when it resolves.
 */
export async function plainWriter(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(tableText)
  /** Rows of different processes must not collide. */
  const firstNumber = process.pid * 1_000_000
  const threads = new Map<string, { readonly number: number; head: number }>()

  function threadOf(name: string) {
    const known = threads.get(name) ?? { number: firstNumber + threads.size, head: 0 }
    threads.set(name, known)
    return known
  }

  return {
    async insert(batches: readonly PlainBatch[]) {
      const numbers: number[] = []
      const seqs: number[] = []
      const texts: string[] = []
      for (const { thread, events } of batches) {
        const found = threadOf(thread)
        for (const event of events) {
          numbers.push(found.number)
          seqs.push(++found.head)
          texts.push(JSON.stringify(event))
        }
      }
      if (texts.length === 0) return
      await client.query({ name: 'insert', text: insertText, values: [numbers, seqs, texts, Date.now()] })
    },
    /** How many rows this process has written. */
    async count(): Promise<number> {
      const text = 'SELECT count(*) FROM entries WHERE thread >= $1 AND thread < $1 + 1000000'
      const { rows } = await client.query<{ count: string }>(text, [firstNumber])
      return Number(rows[0]?.count)
    },
    close: () => client.end(),
  }
}
