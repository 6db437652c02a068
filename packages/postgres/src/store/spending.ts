import type { DayTotal, HeldAmounts, SpentRow } from 'millrace/internal'
import {
  budgetUse,
  decideHold,
  fromColumn,
  heldAmounts,
  holdGraceMs,
  optional,
  spendingFilter,
  spendingRows,
  spendsIn,
  sumColumns,
  toColumn,
  totalColumns,
} from 'millrace/internal'
import type { Batch, SpendingKey, ThreadStore } from 'millrace/store'
import type { StoreParts } from './parts.ts'
import type { Sql } from './sql.ts'
import { dayMs } from './sql.ts'

/** What is read of one limit. `n` is the number of the thread. */
type LimitRow = { readonly n: number; readonly holders: number } & {
  readonly [Key in `spent_${keyof DayTotal}` | `held_${keyof HeldAmounts}`]: number
}

type FoundRow = Pick<SpentRow, keyof typeof sumColumns> & {
  readonly [Key in SpendingKey]?: Key extends 'day' ? number : string | null
}

/** Sums under the names that they have outside of the database. */
function sumsAs(columns: Readonly<Record<string, string>>, prefix = ''): string {
  return Object.entries(columns)
    .map(([key, column]) => `coalesce(sum(${column}), 0) AS "${prefix}${key}"`)
    .join(', ')
}

const heldColumns = { nanos: 'nanos', tokens: 'tokens', rounds: 'rounds' }

const sums = Object.values(sumColumns)

/** Adds to rows that exist. */
const added = (columns: readonly string[]) =>
  columns.map((column) => `${column} = x.${column} + excluded.${column}`).join(', ')

/**
 * `WITH` items that count the spending of batches. They take it from JSON as `spendingJson` returns
 * it, and the threads from rows of `grown` with `i`, `agent` and `user`. A sub-agent that has the
 * name of the thread's agent is counted once.
 */
export function countSpending({ table, shard }: Sql, json: string): string {
  const totals = Object.values(totalColumns)
  return `
    spent AS (
      SELECT s.*, now.ms / ${dayMs} AS day, g.agent, g."user"
      FROM now, grown AS g JOIN json_to_recordset(${json}::json)
        AS s (i integer, model text, tool text, agents json, ${sums.map((column) => `${column} bigint`).join(', ')}) ON s.i = g.i
    ),
    spending AS (
      INSERT INTO ${table('spending')} AS x (day, key, shard, agent, "user", model, tool, ${sums.join(', ')})
      SELECT day, md5(ROW (agent, "user", model, tool)::text)::uuid AS key, ${shard}, agent, "user", model, tool,
        ${sums.map((column) => `sum(${column})`).join(', ')}
      FROM spent GROUP BY day, agent, "user", model, tool ORDER BY key
      ON CONFLICT (day, key, shard) DO UPDATE SET ${added(sums)}
    ),
    totals AS (
      INSERT INTO ${table('totals')} AS x (day, scope, name, shard, ${totals.join(', ')})
      SELECT day, scope, name, ${shard}, sum(nanos), sum(input_tokens + output_tokens), sum(rounds), sum(tool_calls), sum(ms)
      FROM spent CROSS JOIN LATERAL (
        SELECT 'agent' AS scope, agent AS name
        UNION SELECT 'agent', json_array_elements_text(agents) COLLATE "C"
        UNION SELECT 'user', "user" WHERE "user" IS NOT NULL
      ) AS names
      GROUP BY day, scope, name ORDER BY scope, name
      ON CONFLICT (day, scope, name, shard) DO UPDATE SET ${added(totals)}
    )`
}

/** The spending of batches for `countSpending`; undefined if there is none. */
export function spendingJson(batches: readonly Batch[]): string | undefined {
  const rows = batches.flatMap(({ events }, index) =>
    spendsIn(events).map(({ model, tool, agents, sums }) => ({
      i: index + 1,
      model: optional(model),
      tool: optional(tool),
      agents: agents.map(toColumn),
      ...Object.fromEntries(
        Object.entries(sumColumns).map(([key, column]) => [column, sums[key as keyof typeof sums]]),
      ),
    })),
  )
  return rows.length > 0 ? JSON.stringify(rows) : undefined
}

/** Reserving what requests may spend, and adding up what they have spent. */
export function spending({ database, sql, now }: Pick<StoreParts, 'database' | 'sql' | 'now'>) {
  const { table, time, lock } = sql
  const lockText = `SELECT ${lock("'spent by ' || scope")} FROM unnest($1::text[]) AS s (scope)`
  /**
   * One statement, so that a request which ends at the same time is either held or spent. Holds of
   * earlier owners of the thread have ended.
   */
  const limitsText = `
    WITH ${time},
    owned AS (SELECT n FROM ${table('heads')} WHERE id = $2 AND epoch = $3 AND owner = $4 FOR UPDATE)
    SELECT owned.n, spent.*, held.*
    FROM owned CROSS JOIN now LEFT JOIN unnest($5::text[], $6::text[]) WITH ORDINALITY AS a (scope, name, i) ON true
    CROSS JOIN LATERAL (
      SELECT ${sumsAs(totalColumns, 'spent_')} FROM ${table('totals')}
      WHERE day = now.ms / ${dayMs} AND scope = a.scope AND name = a.name
    ) AS spent
    CROSS JOIN LATERAL (
      SELECT ${sumsAs(heldColumns, 'held_')}, count(*) AS holders
      FROM ${table('holds')} AS o JOIN ${table('heads')} AS h ON h.n = o.thread
      WHERE o.scope = a.scope AND o.name = a.name AND (o.thread <> owned.n OR o.epoch = $3 AND o.id <> $7)
        AND h.lease_until + ${holdGraceMs} > now.ms AND h.lease_until <= now.ms + 2 * h.lease_ms + ${holdGraceMs}
    ) AS held
    ORDER BY a.i`
  const freeText = `DELETE FROM ${table('holds')} WHERE thread = $1 AND (epoch <> $2 OR id = $3)`
  const holdText = `
    INSERT INTO ${table('holds')} (thread, epoch, id, scope, name, nanos, tokens, rounds)
    SELECT DISTINCT $1::bigint, $2::bigint, $3::text, scope, name, $4::bigint, $5::bigint, $6::bigint
    FROM unnest($7::text[], $8::text[]) AS a (scope, name)`

  return {
    async hold({ threadId, epoch, owner }, hold) {
      const op = 'store.hold'
      await database.ready(op)
      const { limits } = hold
      const id = toColumn(hold.id)
      const scopes = limits.map(({ scope }) => scope)
      const names = limits.map(({ name }) => toColumn(name))
      // In the same order everywhere, so that no two calls wait for each other.
      const locks = [...new Set(scopes.map((scope, index) => `${scope} ${names[index]}`))].sort()
      return database.transaction(op, async (query, commit) => {
        const [, rows] = await Promise.all([
          query(lockText, [locks]),
          query<LimitRow>(limitsText, [now(), toColumn(threadId), epoch, toColumn(owner), scopes, names, id]),
        ])
        const [owned] = rows
        if (!owned) return { type: 'fenced' }
        const budgets = limits.map((limit, index) => {
          const row = rows[index] as LimitRow
          const spent = {
            nanos: row.spent_nanos,
            tokens: row.spent_tokens,
            rounds: row.spent_rounds,
            toolCalls: row.spent_toolCalls,
            ms: row.spent_ms,
          }
          const held = { nanos: row.held_nanos, tokens: row.held_tokens, rounds: row.held_rounds }
          return budgetUse(limit, spent, { held, holders: row.holders })
        })
        const result = decideHold(hold, budgets)
        const freed = [freeText, [owned.n, epoch, id]] as const
        if (result.type !== 'held') {
          await commit(...freed)
          return result
        }
        const { nanos, tokens, rounds } = heldAmounts(hold)
        await Promise.all([
          query(...freed),
          commit(holdText, [owned.n, epoch, id, nanos, tokens, rounds, scopes, names]),
        ])
        return result
      })
    },

    async spending(options) {
      const op = 'store.spending'
      const { by, from, to, agent, user } = spendingFilter(options)
      await database.ready(op)
      const values: unknown[] = [from, to]
      const value = (given: string) => `$${values.push(toColumn(given))}`
      const filters = [
        ...(agent === undefined ? [] : [`AND agent = ${value(agent)}`]),
        ...(user === undefined ? [] : [`AND "user" = ${value(user)}`]),
      ]
      const columns = by.map((key) => `"${key}"`)
      const text = `
        SELECT ${[...columns, sumsAs(sumColumns)].join(', ')} FROM ${table('spending')}
        WHERE day BETWEEN $1 AND $2 ${filters.join(' ')} ${by.length > 0 ? `GROUP BY ${columns.join(', ')}` : ''}`
      const rows = await database.query<FoundRow>(op, text, values)
      return spendingRows(rows.map(decoded), by)
    },
  } satisfies Partial<ThreadStore>
}

function decoded({ agent, user, model, tool, ...row }: FoundRow): SpentRow {
  const nameIn = (column: string | null | undefined) => (column == null ? undefined : fromColumn(column))
  return { ...row, agent: nameIn(agent), user: nameIn(user), model: nameIn(model), tool: nameIn(tool) }
}
