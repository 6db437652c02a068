import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ThreadInfo, ThreadPage, ThreadStatus } from '../../protocol/index.ts'
import type { ListOptions } from '../store.ts'
import { placeOfCursor } from '../store-errors.ts'
import type { Reads } from './commits.ts'
import type { ListedRow } from './rows.ts'
import { infoOf, toColumn } from './rows.ts'
import type { SearchedThread, SearchResult } from './search-texts.ts'
import { textSearch } from './search-texts.ts'
import { joinSearches, unowned } from './statements.ts'

// Threads by their place, the highest first. A thread that changes between two pages moves to the
// front, which the reader has already passed, so none is listed twice. Few threads are running,
// queued or waiting among many that rest. These have their own indexes, which SQLite does not
// choose on its own.
const statusFilters: Record<ThreadStatus, { readonly index: string; readonly where: string }> = {
  running: { index: 'threads_due', where: `due IS NOT NULL AND NOT ${unowned}` },
  queued: { index: 'threads_due', where: `due IS NOT NULL AND ${unowned}` },
  waiting: { index: 'threads_waiting', where: "due IS NULL AND resting = 'waiting'" },
  idle: { index: 'threads_place', where: "due IS NULL AND resting = 'idle'" },
}

/** How many threads a scan reads at once; fewer if that takes long. */
const sliceLength = { least: 16, first: 64, most: 2000 }
/** How long a scan may take before it yields to other work. */
const sliceMs = 4
/** After how long a scan returns a page that is not full. */
const maxScanMs = 2000
/** A page ends after this much text, however few threads that is. */
const pageChars = 256 * 1024

/** Those of `ListedRow`. To read all columns takes a third longer. */
const columns = `
  id, agent, user, metadata, forked_id, forked_seq, created_at, updated_at, head, title, outcome, error, nanos,
  place, resting, due, owner, lease_ms`

const op = 'store.list'

/** A thread that passes all filters but the search. */
interface Candidate extends SearchedThread {
  readonly place: number
}

interface ListerOptions {
  readonly now: () => number
  readonly read: Reads['read']
  readonly scanMs?: number | undefined
}

/**
 * Returns the function that lists threads. It uses a few statements, one for each combination of
 * filters, and prepares each on first use.
 */
export function threadLister(
  database: DatabaseSync,
  { now, read, scanMs = maxScanMs }: ListerOptions,
): (options: ListOptions) => Promise<ThreadPage> {
  const statements = new Map<string, StatementSync>()

  function prepared(text: string): StatementSync {
    const statement = statements.get(text) ?? database.prepare(text)
    statements.set(text, statement)
    return statement
  }

  const { searchShort, searchLong } = textSearch(prepared, read)

  function firstPage(options: ListOptions, below: number, time: number): Page {
    const { from, where, values } = queryFor(options, time)
    const statement = prepared(
      `SELECT ${columns} FROM ${from} ${joinSearches} WHERE ${where} ORDER BY place DESC LIMIT :limit`,
    )
    const page = emptyPage(options.limit)
    // One more row shows whether there is a next page.
    for (const row of statement.iterate({ ...values, below, limit: options.limit + 1 }))
      if (!page.add(row as unknown as ListedRow)) break
    return page
  }

  /** The candidates among the next threads, and where to continue; undefined at the end. */
  function nextSlice(
    options: ListOptions,
    { below, length, time }: { below: number; length: number; time: number },
  ): { readonly candidates: readonly Candidate[]; readonly place: number } | undefined {
    const { from, where, values } = queryFor(options, time)
    const lowest = prepared(
      `SELECT min(place) AS place FROM (SELECT place FROM ${from} WHERE ${where} ORDER BY place DESC LIMIT :length)`,
    )
    const { place } = lowest.get({ ...values, below, length }) as { place: number | null }
    if (place === null) return undefined
    const more = factFilters(options)
    const label = options.search?.length ? "ifnull(text, '')" : "''"
    const candidates = prepared(
      `SELECT n, place, base, base_seq, nanos, ${label} AS label FROM ${from} ${joinSearches}
       WHERE ${[where, ...more.where].join(' AND ')} ORDER BY place DESC`,
    ).all({ ...values, ...more.values, below, least: place })
    return { candidates: candidates as unknown as Candidate[], place }
  }

  /** The thread as it is now; undefined if it has changed since it was a candidate. */
  function rowOf({ n, place }: Candidate): ListedRow | undefined {
    const text = `SELECT ${columns} FROM threads ${joinSearches} WHERE n = ? AND place = ?`
    return prepared(text).get(n, place) as unknown as ListedRow | undefined
  }

  /** Searches the next candidates that do not take long. */
  function searchSome(candidates: readonly Candidate[], start: number, words: readonly string[]) {
    const since = performance.now()
    const results: SearchResult[] = []
    for (let index = start; index < candidates.length; index++) {
      const result = searchShort(candidates[index] as Candidate, words)
      if (!result) break
      results.push(result)
      if (performance.now() - since > sliceMs) break
    }
    return results
  }

  /** Yields the candidates with whether they contain all words, a few at a time. */
  async function* searchAll(candidates: readonly Candidate[], words: readonly string[]) {
    for (let index = 0; index < candidates.length; ) {
      const start = index
      const some = await read(op, () => searchSome(candidates, start, words))
      const results =
        some.length > 0 ? some : [await searchLong(candidates[start] as Candidate, words, pauses())]
      index += results.length
      yield results.map((result, at) => ({ ...result, candidate: candidates[start + at] as Candidate }))
      if (index < candidates.length) await nextTurn()
    }
  }

  async function scannedPage(options: ListOptions, below: number, time: number): Promise<Page> {
    const page = emptyPage(options.limit)
    const startedAt = performance.now()
    for (let [length, place] = [sliceLength.first, below]; ; await nextTurn()) {
      const since = performance.now()
      const from = { below: place, length, time }
      const slice = await read(op, () => nextSlice(options, from))
      if (!slice) return page
      const isSlow = performance.now() - since > sliceMs
      length = isSlow ? Math.max(sliceLength.least, length >> 1) : Math.min(sliceLength.most, length * 2)
      place = slice.place
      for await (const results of searchAll(slice.candidates, options.search ?? [])) {
        for (const { found, match, candidate } of results) {
          const row = found ? await read(op, () => rowOf(candidate)) : undefined
          if (row && !page.add(row, match)) return page
        }
        if (performance.now() - startedAt >= scanMs) return page.endAt(results.at(-1)?.candidate.place)
      }
      if (performance.now() - startedAt >= scanMs) return page.endAt(place)
    }
  }

  return async (options) => {
    const below = placeOfCursor(op, options.cursor)
    const time = now()
    const isScanned = options.search?.length || factFilters(options).where.length > 0
    const { found, next } = isScanned
      ? await scannedPage(options, below, time)
      : await read(op, () => firstPage(options, below, time))
    return {
      threads: found.map(({ row, match }) => ({ ...infoOf(row, time), ...(match && { match }) })),
      ...(next !== undefined && { next: String(next) }),
    }
  }
}

/** Returns a function that yields to other work whenever it has not done so for a while. */
function pauses(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < sliceMs) return
    await nextTurn()
    since = performance.now()
  }
}

interface Page {
  readonly found: readonly { readonly row: ListedRow; readonly match: Match }[]
  /** Where the next page starts; undefined if this is the last one. */
  readonly next: number | undefined
  /** Returns false if the page is full. */
  add(row: ListedRow, match?: Match): boolean
  /** Ends the page before it is full. */
  endAt(place: number | undefined): Page
}

type Match = ThreadInfo['match'] | undefined

function emptyPage(limit: number): Page {
  const found: { row: ListedRow; match: Match }[] = []
  let chars = 0
  let next: number | undefined
  return {
    found,
    get next() {
      return next
    },
    add(row, match) {
      if (found.length >= limit || chars >= pageChars) {
        next = found.at(-1)?.row.place
        return false
      }
      found.push({ row, match })
      chars += row.id.length + (row.metadata?.length ?? 0) + (row.title?.length ?? 0)
      return true
    },
    endAt(place) {
      next = place
      return this
    },
  }
}

/** Filters without an index. */
function factFilters({ outcome, error, tool, minNanos, since, until }: ListOptions) {
  return {
    where: [
      ...(outcome === undefined ? [] : ['due IS NULL AND outcome = :outcome']),
      ...(error === undefined ? [] : ['due IS NULL AND error = :error']),
      ...(tool === undefined
        ? []
        : ['EXISTS (SELECT 1 FROM tools WHERE tools.thread = threads.n AND name = :tool)']),
      ...(minNanos === undefined ? [] : ['nanos >= :minNanos']),
      ...(since === undefined ? [] : ['updated_at >= :since']),
      ...(until === undefined ? [] : ['updated_at <= :until']),
    ],
    values: {
      ...(outcome !== undefined && { outcome }),
      ...(error !== undefined && { error: toColumn(error) }),
      ...(tool !== undefined && { tool: toColumn(tool) }),
      ...(minNanos !== undefined && { minNanos }),
      ...(since !== undefined && { since }),
      ...(until !== undefined && { until }),
    },
  }
}

function queryFor({ user, agent, status }: ListOptions, time: number) {
  const filter = status && statusFilters[status]
  const index = user !== undefined && (!status || status === 'idle') ? 'threads_user' : filter?.index
  const where = [
    // One lower bound: with two of them SQLite may read the index down to the wrong one.
    'place >= :least AND place < :below',
    ...(user === undefined ? [] : ['user = :user']),
    ...(agent === undefined ? [] : ['agent = :agent']),
    ...(filter ? [filter.where] : []),
  ]
  return {
    from: `threads INDEXED BY ${index ?? 'threads_place'}`,
    where: where.join(' AND '),
    values: {
      // A thread with a negative place is invisible.
      least: 1,
      ...(user !== undefined && { user: toColumn(user) }),
      ...(agent !== undefined && { agent: toColumn(agent) }),
      ...((status === 'running' || status === 'queued') && { now: time }),
    },
  }
}
