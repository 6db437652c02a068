import type { Entry } from 'millrace'
import type { EntryRow } from 'millrace/internal'
import { entriesOf, fromColumn, gap, readEntries, threadNotFound, toColumn } from 'millrace/internal'
import type { ThreadStore } from 'millrace/store'
import { int4s, texts } from './arrays.ts'
import type { Query } from './database.ts'
import type { StoreParts } from './parts.ts'

/** Reads one entry, and finds the thread that holds it. */
export type ReadOne = (
  query: Query,
  op: string,
  threadId: string,
  seq: number,
) => Promise<{ readonly entry: Entry; readonly holder: number }>

type ReadOptions = Parameters<ThreadStore['read']>[1]

/** A row of a page; without an entry if the page is empty. `end` is where the log ends. */
interface PageRow extends Omit<EntryRow, 'seq'> {
  readonly seq: number | null
  readonly end: number
  readonly holder: number
}

/** A row of the pages of several threads. */
interface TailRow extends PageRow {
  readonly i: number
  /** Whether the thread itself has all entries of the page, and not one that it was forked from. */
  readonly own: boolean
}

interface Reader {
  readonly threadId: string
  readonly options: ReadOptions
  readonly resolve: (entries: Entry[] | Promise<Entry[]>) => void
  readonly reject: (error: unknown) => void
}

/** A page ends after this much text, however few entries that is. */
const pageBytes = 256 * 1024
const maxLimit = 10_000

/**
 * How many threads one statement reads, and how many statements run at a time. While they run,
 * others collect: a process that follows many threads reads them together.
 */
const maxThreads = 64
const maxReads = 2

const op = 'store.read'

/** Reading logs. */
export function reading({ database, sql }: Pick<StoreParts, 'database' | 'sql'>) {
  const { table, segments } = sql
  const columns = 'seq, first, at, version, event, cuts'

  /** The sizes are known without reading large texts. */
  const pageText = `
    WITH RECURSIVE ${segments('$1')},
    found AS (
      SELECT s.n, s.up_to, s.depth, e.*, octet_length(e.event) AS size
      FROM segments AS s CROSS JOIN LATERAL (
        SELECT ${columns} FROM ${table('entries')}
        WHERE thread = s.n AND seq > $1 AND coalesce(first, seq) <= s.up_to ORDER BY seq LIMIT $3
      ) AS e
    ),
    page AS (
      SELECT *, sum(size) OVER (ORDER BY depth DESC, seq) - size AS before FROM found ORDER BY depth DESC, seq LIMIT $3
    )
    SELECT s.up_to AS end, p.seq, p.first, p.at, p.version, p.event, p.cuts, least(p.up_to, p.seq) AS "upTo", p.n AS holder
    FROM segments AS s LEFT JOIN page AS p ON p.before < ${pageBytes} WHERE s.depth = 0 ORDER BY p.depth DESC, p.seq`
  const tailsText = `
    SELECT a.i, h.head AS end, h.base_seq <= a.after AS own, e.*, h.n AS holder
    FROM unnest($1::text[], $2::integer[], $3::integer[]) WITH ORDINALITY AS a (id, after, most, i)
    JOIN ${table('heads')} AS h ON h.id = a.id
    LEFT JOIN LATERAL (
      SELECT ${columns} FROM (
        SELECT *, sum(octet_length(event)) OVER (ORDER BY seq) - octet_length(event) AS before FROM (
          SELECT ${columns} FROM ${table('entries')} WHERE thread = h.n AND seq > a.after ORDER BY seq LIMIT a.most
        ) AS found
      ) AS sized WHERE before < ${pageBytes}
    ) AS e ON h.base_seq <= a.after
    ORDER BY a.i, e.seq`
  const headsText = `SELECT id, head FROM ${table('heads')} WHERE id = ANY ($1::text[])`
  const keysText = (condition: string) => `
    SELECT s.key, s.seq FROM ${table('heads')} AS h
    LEFT JOIN ${table('signals')} AS s ON s.thread = h.n ${condition} WHERE h.id = $1`
  const allKeys = keysText('')
  const oneKey = keysText('AND s.key = $2')
  const findKeyText = `
    SELECT h.id, s.seq FROM ${table('signals')} AS s JOIN ${table('heads')} AS h ON h.n = s.thread
    WHERE s.key = $1 ORDER BY s.thread DESC LIMIT $2`
  const waiting: Reader[] = []
  let reads = 0

  function pageOf(rows: readonly PageRow[], op: string, threadId: string, options: ReadOptions) {
    const [first] = rows
    if (!first) throw threadNotFound(op, threadId)
    const found = rows.filter((row) => row.seq !== null) as readonly EntryRow[]
    const origin = { op, threadId, damaged: database.damaged }
    if (found.length === 0 && first.end > options.after) throw gap(options.after + 1, origin)
    return readEntries(entriesOf(found, options.after, origin), options)
  }

  async function readPage(query: Query, op: string, threadId: string, options: ReadOptions) {
    const values = [options.after, toColumn(threadId), Math.min(options.limit, maxLimit)]
    const rows = await query<PageRow>(pageText, values)
    return { entries: pageOf(rows, op, threadId, options), holder: rows[0]?.holder as number }
  }

  async function readTails() {
    reads++
    // After all that want to read now.
    await undefined
    for (let readers = waiting.splice(0, maxThreads); readers.length > 0; ) {
      await readSome(readers)
      readers = waiting.splice(0, maxThreads)
    }
    reads--
  }

  async function readSome(readers: readonly Reader[]) {
    try {
      const rows = await database.query<TailRow>(op, tailsText, [
        texts(readers.map(({ threadId }) => toColumn(threadId))),
        int4s(readers.map(({ options }) => options.after)),
        int4s(readers.map(({ options }) => Math.min(options.limit, maxLimit))),
      ])
      const pages = Map.groupBy(rows, ({ i }) => i)
      for (const [index, reader] of readers.entries()) answer(reader, pages.get(index + 1) ?? [])
    } catch (error) {
      for (const { reject } of readers) reject(error)
    }
  }

  function answer({ threadId, options, resolve, reject }: Reader, rows: readonly TailRow[]) {
    try {
      if (rows[0]?.own !== false) return resolve(pageOf(rows, op, threadId, options))
      const query: Query = (text, values) => database.query(op, text, values)
      resolve(readPage(query, op, threadId, options).then(({ entries }) => entries))
    } catch (error) {
      reject(error)
    }
  }

  const readOne: ReadOne = async (query, op, threadId, seq) => {
    const options = { after: seq - 1, limit: 1, split: true }
    const { entries, holder } = await readPage(query, op, threadId, options)
    return { entry: entries[0] as Entry, holder }
  }

  return {
    readOne,
    store: {
      async read(threadId, options) {
        await database.ready(op)
        return new Promise<Entry[]>((resolve, reject) => {
          waiting.push({ threadId, options, resolve, reject })
          if (reads < maxReads) void readTails()
        })
      },

      async heads(threadIds) {
        const op = 'store.heads'
        await database.ready(op)
        const rows = await database.query<{ id: string; head: number }>(op, headsText, [
          texts(threadIds.map(toColumn)),
        ])
        return new Map(rows.map(({ id, head }) => [fromColumn(id), head]))
      },

      async keys(threadId, key) {
        const op = 'store.keys'
        await database.ready(op)
        const id = toColumn(threadId)
        const rows = await database.query<{ key: string | null; seq: number }>(
          op,
          key === undefined ? allKeys : oneKey,
          key === undefined ? [id] : [id, toColumn(key)],
        )
        if (rows.length === 0) throw threadNotFound(op, threadId)
        return new Map(
          rows.flatMap(({ key, seq }) => (key === null ? [] : [[fromColumn(key), seq] as const])),
        )
      },

      async findKey(key, limit) {
        const op = 'store.findKey'
        await database.ready(op)
        const rows = await database.query<{ id: string; seq: number }>(op, findKeyText, [
          toColumn(key),
          limit,
        ])
        return rows.map(({ id, seq }) => ({ threadId: fromColumn(id), seq }))
      },
    } satisfies Partial<ThreadStore>,
  }
}
