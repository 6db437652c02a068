import type { DatabaseSync } from 'node:sqlite'
import type { SpendingKey, SpendingOptions, SpendingRow } from '../../protocol/index.ts'
import { decideHold } from '../holds.ts'
import type { CountedSpend, DayTotal, HeldAmounts, SpendingSums, SpentRow } from '../spending.ts'
import {
  budgetUse,
  dayOf,
  heldAmounts,
  holdGraceMs,
  spendingCounter,
  spendingFilter,
  spendingRows,
  sumColumns,
  totalColumns,
} from '../spending.ts'
import type { Hold, HoldResult, Lease, ThreadStore } from '../store.ts'
import type { Commits, Reads } from './commits.ts'
import { fromColumn, toColumn } from './rows.ts'

/** A column of the key that has no value: see schema.ts. */
const none = '"'

const keyColumn = (name: string | undefined) => (name === undefined ? none : toColumn(name))

/** A statement that adds to a row with these keys. */
function upsert(table: string, keys: readonly string[], sums: readonly string[]): string {
  const columns = [...keys, ...sums]
  return `
    INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT DO UPDATE SET ${sums.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`
}

/** Selects sums as floating point numbers, which have no overflow, and are 0 without rows. */
function totalsOf(columns: Readonly<Record<string, string>>): string {
  return Object.entries(columns)
    .map(([key, column]) => `total(${column}) AS ${key}`)
    .join(', ')
}

/** Counts what is spent, and what requests hold. */
export function spendingWriter(database: DatabaseSync, { write }: Commits, now: () => number) {
  const sql = (text: string) => database.prepare(text)
  const threadOf = sql('SELECT agent, user FROM threads WHERE n = ?')
  const addSpending = sql(
    upsert('spending', ['day', 'agent', 'user', 'model', 'tool'], Object.values(sumColumns)),
  )
  const addTotal = sql(upsert('totals', ['day', 'scope', 'name'], Object.values(totalColumns)))
  const totalOf = sql(`SELECT ${totalsOf(totalColumns)} FROM totals WHERE day = ? AND scope = ? AND name = ?`)
  const ownedBy = sql('SELECT n FROM threads WHERE id = ? AND epoch = ? AND owner = ?')
  const freeOne = sql('DELETE FROM holds WHERE thread = ? AND id = ?')
  const freeThread = sql('DELETE FROM holds WHERE thread = ?')
  const freeOthers = sql('DELETE FROM holds WHERE thread = ? AND epoch <> ?')
  const addHold = sql(`
    INSERT OR REPLACE INTO holds (thread, id, scope, name, epoch, nanos, tokens, rounds) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  const heldOf = sql(`
    SELECT total(nanos) AS nanos, total(tokens) AS tokens, total(rounds) AS rounds, count(*) AS holders
    FROM holds CROSS JOIN threads ON threads.n = holds.thread
    WHERE scope = :scope AND name = :name
      AND due + ${holdGraceMs} > :now AND due <= :now + 2 * ifnull(lease_ms, due) + ${holdGraceMs}`)

  function counter() {
    const total = spendingCounter()
    return {
      add(thread: number, spends: readonly CountedSpend[]): void {
        const { agent, user } = threadOf.get(thread) as { agent: string; user: string | null }
        total.add({ agent: fromColumn(agent), ...(user !== null && { user: fromColumn(user) }) }, spends)
      },
      write(time: number): void {
        const day = dayOf(time)
        for (const row of total.rows.values()) {
          const keys = [row.agent, row.user, row.model, row.tool].map(keyColumn)
          addSpending.run(day, ...keys, ...valuesOf(row, sumColumns))
        }
        for (const row of total.totals.values())
          addTotal.run(day, row.scope, toColumn(row.name), ...valuesOf(row, totalColumns))
      },
    }
  }

  function decide(hold: Hold, time: number): HoldResult {
    const budgets = hold.limits.map((limit) => {
      const [scope, name] = [limit.scope, toColumn(limit.name)]
      const spent = totalOf.get(dayOf(time), scope, name) as unknown as DayTotal
      const { holders, ...held } = heldOf.get({ scope, name, now: time }) as unknown as HeldAmounts & {
        holders: number
      }
      return budgetUse(limit, spent, { held, holders })
    })
    return decideHold(hold, budgets)
  }

  return {
    counter,

    /** Within a transaction. */
    free(thread: number, id: string): void {
      freeOne.run(thread, toColumn(id))
    },

    /** Within a transaction. */
    freeAll(thread: number): void {
      freeThread.run(thread)
    },

    hold: ({ threadId, epoch, owner }: Lease, hold: Hold): Promise<HoldResult> =>
      write('store.hold', () => {
        const owned = ownedBy.get(toColumn(threadId), epoch, toColumn(owner)) as { n: number } | undefined
        if (!owned) return { type: 'fenced' }
        const { n } = owned
        const id = toColumn(hold.id)
        freeOthers.run(n, epoch)
        freeOne.run(n, id)
        const result = decide(hold, now())
        const { nanos, tokens, rounds } = heldAmounts(hold)
        if (result.type === 'held')
          for (const { scope, name } of hold.limits)
            addHold.run(n, id, scope, toColumn(name), epoch, nanos, tokens, rounds)
        return result
      }),
  }
}

/** Returns the function that sums up what was spent. */
export function spendingReader(
  database: DatabaseSync,
  { read }: Pick<Reads, 'read'>,
): ThreadStore['spending'] {
  return async (options: SpendingOptions): Promise<SpendingRow[]> => {
    const query = spendingFilter(options)
    return read('store.spending', () => {
      const { by, from, to, agent, user } = query
      const filters = [
        ...(agent === undefined ? [] : ['AND agent = :agent']),
        ...(user === undefined ? [] : ['AND user = :user']),
      ]
      const found = database.prepare(`
        SELECT ${[...by, totalsOf(sumColumns)].join(', ')} FROM spending
        WHERE day >= :from AND day <= :to ${filters.join(' ')} ${by.length > 0 ? `GROUP BY ${by.join(', ')}` : ''}`)
      const values = {
        from,
        to,
        ...(agent !== undefined && { agent: toColumn(agent) }),
        ...(user !== undefined && { user: toColumn(user) }),
      }
      return spendingRows((found.all(values) as unknown as FoundRow[]).map(decoded), by)
    })
  }
}

type FoundRow = SpendingSums & { readonly [Key in SpendingKey]?: Key extends 'day' ? number : string }

function decoded({ agent, user, model, tool, ...row }: FoundRow): SpentRow {
  const nameIn = (column: string | undefined) =>
    column === undefined || column === none ? undefined : fromColumn(column)
  return { ...row, agent: nameIn(agent), user: nameIn(user), model: nameIn(model), tool: nameIn(tool) }
}

function valuesOf<Key extends string>(
  row: Readonly<Record<NoInfer<Key>, number>>,
  columns: Readonly<Record<Key, string>>,
) {
  return (Object.keys(columns) as Key[]).map((key) => row[key])
}
