import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ThreadPage, ThreadStatus } from '../../protocol/index.ts'
import type { ListOptions } from '../store.ts'
import { placeOfCursor } from '../store-errors.ts'
import type { Commits } from './commits.ts'
import type { ThreadRow } from './rows.ts'
import { infoOf, toColumn } from './rows.ts'
import { metadata, unowned } from './statements.ts'

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

/** How many threads a search scans before it yields to other work; fewer if that takes long. */
const sliceLength = { least: 16, first: 64, most: 2000 }
const sliceMs = 4

/** A page ends after this much text, however few threads that is. */
const pageChars = 256 * 1024

/**
 * How many words SQLite matches, so that there are few statements. The others are matched in the
 * text that was read, which is slower.
 */
const maxSqlWords = 8

const op = 'store.list'

/**
 * Returns the function that lists threads. It uses a few statements, one for each combination of
 * filters, and prepares each on first use.
 */
export function threadLister(
  database: DatabaseSync,
  { now, read }: { readonly now: () => number; readonly read: Commits['read'] },
): (options: ListOptions) => Promise<ThreadPage> {
  const statements = new Map<string, StatementSync>()

  function prepared(text: string): StatementSync {
    const statement = statements.get(text) ?? database.prepare(text)
    statements.set(text, statement)
    return statement
  }

  function firstPage(options: ListOptions, below: number, time: number): Page {
    const { from, where, values } = queryFor(options, time)
    const statement = prepared(
      `SELECT threads.*, ${metadata} FROM ${from} WHERE ${where} ORDER BY place DESC LIMIT :limit`,
    )
    const page = emptyPage(options.limit)
    // One more row shows whether there is a next page.
    for (const row of statement.iterate({ ...values, below, limit: options.limit + 1 }))
      if (!page.add(row as unknown as ThreadRow)) break
    return page
  }

  /**
   * Adds the threads of the next slice that contain all words. Returns where to continue; undefined
   * at the end, or when the page is full.
   */
  function searchSlice(
    options: ListOptions,
    {
      words,
      below,
      length,
      time,
      page,
    }: { words: readonly string[]; below: number; length: number; time: number; page: Page },
  ): number | undefined {
    const { from, where, values } = queryFor(options, time)
    const [matchedBySql, others] = [words.slice(0, maxSqlWords), words.slice(maxSqlWords)]
    const lowest = prepared(
      `SELECT min(place) AS place FROM (SELECT place FROM ${from} WHERE ${where} ORDER BY place DESC LIMIT :length)`,
    )
    const { place } = lowest.get({ ...values, below, length }) as { place: number | null }
    if (place === null) return undefined
    const contains = matchedBySql.map((_, index) => `AND instr(text, :word${index}) > 0`).join(' ')
    const wordValues = Object.fromEntries(matchedBySql.map((word, index) => [`word${index}`, word]))
    const rows = prepared(
      `SELECT threads.*, text, metadata FROM ${from} JOIN searches ON searches.thread = threads.n WHERE ${where} AND place >= :place ${contains} ORDER BY place DESC`,
    ).iterate({ ...values, ...wordValues, below, place }) as unknown as Iterable<ThreadRow & { text: string }>
    for (const row of rows)
      if (others.every((other) => row.text.includes(other)) && !page.add(row)) return undefined
    return place
  }

  async function searchedPage(options: ListOptions, first: number, time: number): Promise<Page> {
    const words = options.search ?? []
    const page = emptyPage(options.limit)
    let length = sliceLength.first
    for (let below: number | undefined = first; ; await nextTurn()) {
      const since = performance.now()
      const from: number = below
      below = await read(op, () => searchSlice(options, { words, below: from, length, time, page }))
      if (below === undefined) return page
      const isSlow = performance.now() - since > sliceMs
      length = isSlow ? Math.max(sliceLength.least, length >> 1) : Math.min(sliceLength.most, length * 2)
    }
  }

  return async (options) => {
    const below = placeOfCursor(op, options.cursor)
    const time = now()
    const { rows, hasNext } = !options.search?.length
      ? await read(op, () => firstPage(options, below, time))
      : await searchedPage(options, below, time)
    return {
      threads: rows.map((row) => infoOf(row, time)),
      ...(hasNext() && { next: String(rows.at(-1)?.place) }),
    }
  }
}

interface Page {
  readonly rows: readonly ThreadRow[]
  /** Returns false if the page is full. */
  add(row: ThreadRow): boolean
  hasNext(): boolean
}

function emptyPage(limit: number): Page {
  const rows: ThreadRow[] = []
  let chars = 0
  let isFull = false
  return {
    rows,
    add(row) {
      isFull = rows.length >= limit || chars >= pageChars
      if (isFull) return false
      rows.push(row)
      chars += row.id.length + (row.metadata?.length ?? 0) + (row.title?.length ?? 0)
      return true
    },
    hasNext: () => isFull,
  }
}

function queryFor({ user, agent, status }: ListOptions, time: number) {
  const filter = status && statusFilters[status]
  const index = user !== undefined && (!status || status === 'idle') ? 'threads_user' : filter?.index
  const where = [
    // A thread with a negative place is invisible.
    'place > 0 AND place < :below',
    ...(user === undefined ? [] : ['user = :user']),
    ...(agent === undefined ? [] : ['agent = :agent']),
    ...(filter ? [filter.where] : []),
  ]
  return {
    from: `threads INDEXED BY ${index ?? 'threads_place'}`,
    where: where.join(' AND '),
    values: {
      ...(user !== undefined && { user: toColumn(user) }),
      ...(agent !== undefined && { agent: toColumn(agent) }),
      ...((status === 'running' || status === 'queued') && { now: time }),
    },
  }
}
