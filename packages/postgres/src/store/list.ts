import type { ThreadInfo } from 'millrace'
import { excerptOf, placeOfCursor, toColumn } from 'millrace/internal'
import type { ListOptions, ThreadStore } from 'millrace/store'
import type { StoreParts } from './parts.ts'
import type { ThreadRow } from './rows.ts'
import { infoOf, threadColumns } from './rows.ts'

interface ListedRow extends ThreadRow {
  readonly place: number
}

/** A row of a scan. `lowest` and `scanned` are about the slice; without a thread if it has none. */
interface ScannedRow extends Omit<ListedRow, 'id'> {
  readonly lowest: number
  readonly scanned: number
  readonly id: string | null
  readonly n: number
  readonly label: string
}

type FoundRow = ScannedRow & ListedRow

interface TextRow {
  readonly i: number
  readonly seq: number
  readonly text: string
  readonly search: string
}

/** A page of the list ends after this much text, however few threads that is. */
const pageChars = 256 * 1024

/** How many threads one statement scans: more if that is fast, fewer if it is slow. */
const sliceLength = { least: 32, first: 256, most: 8192 }
/** After how long a scan returns a page that is not full. */
const maxScanMs = 2000
const fastMs = 100
const slowMs = 1000

/** How many texts are read at once for their excerpts. */
const maxTexts = 50

const op = 'store.list'

/** Listing and searching threads. */
export function listing({ database, sql, now }: StoreParts, scanMs = maxScanMs) {
  const { table, time, expired } = sql
  const columns = threadColumns(sql)
  const owned = {
    running: `AND NOT ${expired}`,
    queued: `AND ${expired}`,
    waiting: 'AND false',
    idle: 'AND false',
  }
  const resting = {
    running: 'AND false',
    queued: 'AND h.due IS NOT NULL',
    waiting: "AND h.due IS NULL AND h.resting = 'waiting'",
    idle: "AND h.due IS NULL AND h.resting = 'idle'",
  }
  /** The threads that hold what the thread `n` shares, each with the last number to read there. */
  const shared = (n: string) => `
    WITH RECURSIVE shared (n, up_to, depth) AS (
      SELECT ${n}, 2147483647, 0
      UNION ALL
      SELECT b.base, b.base_seq, depth + 1 FROM shared JOIN ${table('threads')} AS b ON b.n = shared.n
      WHERE b.base IS NOT NULL
    )`
  /** Not `EXISTS`, for which PostgreSQL may read all texts of all threads first. */
  const contains = (word: string) => `
    (position(${word}::text IN t.search) > 0
    OR coalesce((
      SELECT true FROM ${table('texts')} AS x WHERE x.thread = t.n AND position(${word}::text IN x.search) > 0 LIMIT 1
    ), false)
    OR t.base IS NOT NULL AND coalesce((
      ${shared('t.n')} SELECT true FROM shared AS s JOIN ${table('texts')} AS x ON x.thread = s.n AND x.seq <= s.up_to
      WHERE position(${word}::text IN x.search) > 0 LIMIT 1
    ), false))`
  const latestTexts = `
    SELECT a.i, x.* FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS a (n, word, i)
    CROSS JOIN LATERAL (
      ${shared('a.n')}
      SELECT x.seq, x.text, x.search FROM shared AS s JOIN ${table('texts')} AS x ON x.thread = s.n AND x.seq <= s.up_to
      WHERE position(a.word IN x.search) > 0 ORDER BY x.seq DESC, s.depth LIMIT 1
    ) AS x`

  /** The threads below a place that pass the filters of `heads`, the most recently changed first. */
  function threadsBelow(
    { user, agent, status }: ListOptions,
    { select, most, value }: { select: string; most: number; value: (given: unknown) => string },
  ): string {
    const where = [
      ...(user === undefined ? [] : [`AND h."user" = ${value(toColumn(user))}`]),
      ...(agent === undefined ? [] : [`AND h.agent = ${value(toColumn(agent))}`]),
    ].join(' ')
    const part = (place: string, condition: string) => `
      (SELECT ${select.replaceAll('$place', place)}
      WHERE ${place} < $2 AND ${condition} ${where} ORDER BY ${place} DESC LIMIT ${most})`
    // Threads with an owner are few, and sorted when they are listed; an index sorts the others.
    return `
      ${part('h.changed', `h.owner IS NOT NULL ${status ? owned[status] : ''}`)}
      UNION ALL
      ${part('h.listed', `h.owner IS NULL ${status ? resting[status] : ''}`)}
      ORDER BY place DESC LIMIT ${most}`
  }

  async function firstPage(options: ListOptions, below: number) {
    const values: unknown[] = [now(), below]
    const text = threadsBelow(options, {
      select: `${columns}, $place AS place
        FROM now, ${table('heads')} AS h JOIN ${table('threads')} AS t ON t.n = h.n`,
      // A part of the text, so that a prepared plan takes it into account.
      most: mostRows(options),
      value: (given) => `$${values.push(given)}`,
    })
    const rows = await database.query<ListedRow>(op, `WITH ${time} ${text}`, values)
    return pageOf(rows, options.limit)
  }

  /** Scans a number of threads. Returns the first ones that pass all filters. */
  function scan(options: ListOptions, below: number, length: number) {
    const values: unknown[] = [now(), below]
    const value = (given: unknown) => `$${values.push(given)}`
    const slice = threadsBelow(options, {
      select: `h.*, $place AS place FROM now, ${table('heads')} AS h`,
      most: length,
      value,
    })
    const { outcome, error, tool, minNanos, since, until, search = [] } = options
    const rests = 'h.owner IS NULL AND h.due IS NULL'
    const where = [
      ...(outcome === undefined ? [] : [`${rests} AND t.outcome = ${value(outcome)}`]),
      ...(error === undefined ? [] : [`${rests} AND t.error = ${value(toColumn(error))}`]),
      ...(minNanos === undefined ? [] : [`t.nanos >= ${value(minNanos)}::float8`]),
      ...(since === undefined ? [] : [`h.updated_at >= ${value(since)}::float8`]),
      ...(until === undefined ? [] : [`h.updated_at <= ${value(until)}::float8`]),
      ...(tool === undefined
        ? []
        : [
            `coalesce((SELECT true FROM ${table('tools')} AS x WHERE x.thread = t.n AND x.name = ${value(toColumn(tool))}), false)`,
          ]),
      ...search.map((word) => contains(value(word))),
    ].join(' AND ')
    const text = `
      WITH ${time}, slice AS MATERIALIZED (${slice}),
      bounds AS (SELECT min(place) AS lowest, count(*) AS scanned FROM slice),
      found AS (
        SELECT ${columns}, t.n, ${search.length > 0 ? 't.search' : "''"} AS label, h.place
        FROM now, slice AS h JOIN ${table('threads')} AS t ON t.n = h.n
        WHERE ${where} ORDER BY h.place DESC LIMIT ${mostRows(options)}
      )
      SELECT * FROM bounds LEFT JOIN found ON true ORDER BY place DESC`
    return database.query<ScannedRow>(op, text, values)
  }

  async function scannedPage(options: ListOptions, below: number) {
    const rows: FoundRow[] = []
    const startedAt = performance.now()
    for (let [length, place] = [sliceLength.first, below]; ; ) {
      const since = performance.now()
      const slice = await scan(options, place, length)
      const took = performance.now() - since
      rows.push(...slice.filter((row): row is FoundRow => row.id !== null))
      const page = pageOf(rows, options.limit)
      const [{ scanned, lowest }] = slice as [ScannedRow]
      if (page.next !== undefined || scanned < length) return page
      if (performance.now() - startedAt >= scanMs) return { ...page, next: lowest }
      place = lowest
      if (took < fastMs) length = Math.min(sliceLength.most, length * 2)
      else if (took > slowMs) length = Math.max(sliceLength.least, length / 2)
    }
  }

  /** The matches of threads whose label does not contain all words, by their numbers. */
  async function matchesIn(rows: readonly FoundRow[], words: readonly string[]) {
    const matches = new Map<number, ThreadInfo['match']>()
    const missing = rows.flatMap(({ n, label }) => {
      const word = words.find((one) => !label.includes(one))
      return word === undefined ? [] : { n, word }
    })
    for (let start = 0; start < missing.length; start += maxTexts) {
      const some = missing.slice(start, start + maxTexts)
      const values = [some.map(({ n }) => n), some.map(({ word }) => word)]
      for (const { i, seq, ...text } of await database.query<TextRow>(op, latestTexts, values)) {
        const { n, word } = some[i - 1] as { n: number; word: string }
        matches.set(n, { seq, text: excerptOf(text, word) })
      }
    }
    return matches
  }

  return {
    async list(options) {
      const below = placeOfCursor(op, options.cursor)
      await database.ready(op)
      if (!isScanned(options)) {
        const page = await firstPage(options, below)
        return { threads: page.rows.map(infoOf), ...nextOf(page) }
      }
      const page = await scannedPage(options, below)
      const matches = await matchesIn(page.rows, options.search ?? [])
      const threads = page.rows.map((row) => {
        const match = matches.get(row.n)
        return { ...infoOf(row), ...(match && { match }) }
      })
      return { threads, ...nextOf(page) }
    },
  } satisfies Partial<ThreadStore>
}

function isScanned({ search = [], ...filters }: ListOptions): boolean {
  const { outcome, error, tool, minNanos, since, until } = filters
  return search.length > 0 || [outcome, error, tool, minNanos, since, until].some((one) => one !== undefined)
}

/** One more row shows whether there is a next page. */
function mostRows({ limit }: ListOptions): number {
  return Math.floor(limit) + 1
}

interface Page<Row> {
  readonly rows: readonly Row[]
  /** Where the next page starts; undefined if this is the last one. */
  readonly next: number | undefined
}

/** The first rows, as far as they are a page. */
function pageOf<Row extends ListedRow>(rows: readonly Row[], limit: number): Page<Row> {
  let chars = 0
  const end = rows.findIndex(({ id, metadata, title }, index) => {
    if (index >= limit || chars >= pageChars) return true
    chars += id.length + (metadata?.length ?? 0) + (title?.length ?? 0)
    return false
  })
  if (end < 0) return { rows, next: undefined }
  return { rows: rows.slice(0, end), next: rows[end - 1]?.place }
}

function nextOf({ next }: Page<ListedRow>): { readonly next?: string } {
  return next === undefined ? {} : { next: String(next) }
}
