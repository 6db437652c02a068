import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ThreadPage, ThreadStatus } from '../../protocol/index.ts'
import { searchWords } from '../search.ts'
import type { ListOptions } from '../store.ts'
import { placeOfCursor } from '../store-errors.ts'
import type { Commits } from './commits.ts'
import type { ThreadRow } from './rows.ts'
import { infoOf, toColumn } from './rows.ts'

/** Also a lease that ends later than it was given for. */
const expired = '(owner IS NULL OR due <= :now OR due > :now + ifnull(lease_ms, due))'

// Threads by their place, the highest first. A thread that changes between two pages moves to the front, where the reader has
// been already, so none comes twice. Few are ever running, queued or waiting among many that rest: those have an index of
// their own, which SQLite does not choose by itself.
const statusFilters: Record<ThreadStatus, { readonly index: string; readonly where: string }> = {
  running: { index: 'threads_due', where: `due IS NOT NULL AND NOT ${expired}` },
  queued: { index: 'threads_due', where: `due IS NOT NULL AND ${expired}` },
  waiting: { index: 'threads_waiting', where: "due IS NULL AND resting = 'waiting'" },
  idle: { index: 'threads_place', where: "due IS NULL AND resting = 'idle'" },
}

/** A search looks at so many threads, which takes a millisecond or two, before it lets something else happen. */
const sliceLength = 2000

/** SQLite looks for so many words at most, so that there are few statements. For the others the text is read, which takes longer. */
const mostAsked = 8

const op = 'store.list'

/** Gives the function that lists. There are a few statements, one for each kind of question; each is prepared when it is first asked. */
export function listing(
  database: DatabaseSync,
  { now, read }: { readonly now: () => number; readonly read: Commits['read'] },
): (options: ListOptions) => Promise<ThreadPage> {
  const statements = new Map<string, StatementSync>()

  function prepared(text: string): StatementSync {
    const statement = statements.get(text) ?? database.prepare(text)
    statements.set(text, statement)
    return statement
  }

  function firstRows(options: ListOptions, below: number, time: number): ThreadRow[] {
    const { from, where, values } = questionOf(options, time)
    const statement = prepared(`SELECT * FROM ${from} WHERE ${where} ORDER BY place DESC LIMIT :limit`)
    // One more tells whether there is a next page.
    return statement.all({ ...values, below, limit: options.limit + 1 }) as unknown as ThreadRow[]
  }

  /** Of the next threads in line: those that have all words, at most `most`, and where the line goes on, unless that was its end. */
  function searchSlice(
    options: ListOptions,
    { words, below, most, time }: { words: readonly string[]; below: number; most: number; time: number },
  ) {
    const { from, where, values } = questionOf(options, time)
    const [asked, others] = [words.slice(0, mostAsked), words.slice(mostAsked)]
    const line = prepared(
      `SELECT min(place) AS place FROM (SELECT place FROM ${from} WHERE ${where} ORDER BY place DESC LIMIT :length)`,
    )
    const { place } = line.get({ ...values, below, length: sliceLength }) as { place: number | null }
    const found: ThreadRow[] = []
    if (place === null) return { found, goesOn: undefined }
    const contains = asked.map((_, index) => `AND instr(text, :word${index}) > 0`).join(' ')
    const sought = Object.fromEntries(asked.map((word, index) => [`word${index}`, word]))
    const rows = prepared(
      `SELECT threads.*, text FROM ${from} JOIN searches ON searches.thread = threads.n WHERE ${where} AND place >= :place ${contains} ORDER BY place DESC`,
    ).iterate({ ...values, ...sought, below, place }) as unknown as Iterable<ThreadRow & { text: string }>
    for (const row of rows) {
      if (others.every((other) => row.text.includes(other))) found.push(row)
      if (found.length === most) break
    }
    return { found, goesOn: place }
  }

  async function searchedRows(options: ListOptions, words: readonly string[], first: number, time: number) {
    const rows: ThreadRow[] = []
    for (let below = first; ; await nextTurn()) {
      const most = options.limit + 1 - rows.length
      const { found, goesOn } = await read(op, () => searchSlice(options, { words, below, most, time }))
      rows.push(...found)
      if (goesOn === undefined || rows.length > options.limit) return rows
      below = goesOn
    }
  }

  return async (options) => {
    const { limit, search } = options
    const below = placeOfCursor(op, options.cursor)
    const time = now()
    const rows =
      search === undefined
        ? await read(op, () => firstRows(options, below, time))
        : await searchedRows(options, searchWords(search), below, time)
    const page = rows.slice(0, limit)
    return {
      threads: page.map((row) => infoOf(row, time)),
      ...(rows.length > limit && { next: String(page.at(-1)?.place) }),
    }
  }
}

function questionOf({ user, agent, status }: ListOptions, time: number) {
  const filter = status && statusFilters[status]
  const index = user !== undefined && (!status || status === 'idle') ? 'threads_user' : filter?.index
  const where = [
    'place < :below',
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
