import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ThreadPage, ThreadStatus } from '../../protocol/index.ts'
import type { ListOptions } from '../store.ts'
import { placeOfCursor } from '../store-errors.ts'
import type { ThreadRow } from './rows.ts'
import { infoOf, toColumn } from './rows.ts'

// Threads by their place, the highest first. A thread that changes between two pages moves to the front, where the reader has
// been already, so none comes twice. Few are ever running, queued or waiting among many that rest: those have an index of
// their own, which SQLite does not choose by itself.
const statusFilters: Record<ThreadStatus, { readonly index: string; readonly where: string }> = {
  running: { index: 'threads_due', where: 'due IS NOT NULL AND owner IS NOT NULL AND due > :now' },
  queued: { index: 'threads_due', where: 'due IS NOT NULL AND (owner IS NULL OR due <= :now)' },
  waiting: { index: 'threads_waiting', where: "due IS NULL AND resting = 'waiting'" },
  idle: { index: 'threads_place', where: "due IS NULL AND resting = 'idle'" },
}

/** Gives the function that lists. There are a few statements, one for each kind of question; each is prepared when it is first asked. */
export function listing(database: DatabaseSync, now: () => number): (options: ListOptions) => ThreadPage {
  const statements = new Map<string, StatementSync>()

  function statementFor({ user, agent, status }: ListOptions): StatementSync {
    const filter = status && statusFilters[status]
    const index = user !== undefined && (!status || status === 'idle') ? 'threads_user' : filter?.index
    const where = [
      'place < :place',
      ...(user === undefined ? [] : ['user = :user']),
      ...(agent === undefined ? [] : ['agent = :agent']),
      ...(filter ? [filter.where] : []),
    ]
    const text = `SELECT * FROM threads INDEXED BY ${index ?? 'threads_place'} WHERE ${where.join(' AND ')} ORDER BY place DESC LIMIT :limit`
    const statement = statements.get(text) ?? database.prepare(text)
    statements.set(text, statement)
    return statement
  }

  return (options) => {
    const { limit, cursor, user, agent, status } = options
    const time = now()
    const rows = statementFor(options).all({
      place: placeOfCursor('store.list', cursor),
      // One more tells whether there is a next page.
      limit: limit + 1,
      ...(user !== undefined && { user: toColumn(user) }),
      ...(agent !== undefined && { agent: toColumn(agent) }),
      ...((status === 'running' || status === 'queued') && { now: time }),
    }) as unknown as ThreadRow[]
    const page = rows.slice(0, limit)
    return {
      threads: page.map((row) => infoOf(row, time)),
      ...(rows.length > limit && { next: String(page.at(-1)?.place) }),
    }
  }
}
