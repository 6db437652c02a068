import type { Exchange, ExchangeStore } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import {
  byteLength,
  checkOptions,
  invalidInput,
  toColumn,
  upgradeExchange,
  wholeNumber,
} from 'millrace/internal'
import type { ThreadStore } from 'millrace/store'
import { databaseOf } from './postgres-store.ts'

export interface PostgresExchangesOptions {
  /** When more is stored, the oldest exchanges are deleted. Default: 1 GiB. */
  readonly maxBytes?: number | undefined
}

const optionTable: OptionTable<PostgresExchangesOptions> = { maxBytes: wholeNumber(1) }

/** The share of `maxBytes` that may be written before all processes' exchanges are measured again. */
const slack = 1 / 16

/** Stores model requests and responses next to the threads, where every process can read them. */
export function postgresExchanges(store: ThreadStore, options: PostgresExchangesOptions = {}): ExchangeStore {
  const op = 'postgresExchanges'
  checkOptions(options, optionTable, { op, what: 'the option of postgresExchanges()' })
  const database = databaseOf(store)
  if (!database) throw invalidInput(op, 'the store must come from postgresStore()')
  const { query, ready, quoted } = database
  const { maxBytes = 2 ** 30 } = options
  const table = `${quoted}.exchanges`
  let bytesLeft = 0

  async function prune() {
    bytesLeft = maxBytes * slack
    const text = `
      DELETE FROM ${table} WHERE (thread, run, round, attempt) IN (
        SELECT thread, run, round, attempt FROM (
          SELECT thread, run, round, attempt, sum(bytes) OVER (ORDER BY at DESC, thread, run, round, attempt) AS total
          FROM ${table}
        ) AS newest WHERE total > $1::bigint)`
    await query(op, text, [Math.round(maxBytes * (1 - slack))])
  }

  return {
    async put(threadId, exchange) {
      await ready(op)
      const json = JSON.stringify(exchange)
      const { runId, round, attempt } = exchange
      const bytes = byteLength(json)
      await query(
        op,
        `INSERT INTO ${table} (thread, run, round, attempt, bytes, exchange) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (thread, run, round, attempt) DO UPDATE SET bytes = excluded.bytes, exchange = excluded.exchange, at = now()`,
        [toColumn(threadId), toColumn(runId), round, attempt, bytes, json],
      )
      bytesLeft -= bytes
      if (bytesLeft < 0) await prune()
    },
    async rounds(threadId, runId) {
      await ready(op)
      const text = `SELECT DISTINCT round FROM ${table} WHERE thread = $1 AND run = $2`
      const rows = await query<{ round: number }>(op, text, [toColumn(threadId), toColumn(runId)])
      return rows.map(({ round }) => round)
    },
    async read(threadId, runId, round) {
      await ready(op)
      const text = `SELECT exchange FROM ${table} WHERE thread = $1 AND run = $2 AND ($3::integer IS NULL OR round = $3)`
      const values = [toColumn(threadId), toColumn(runId), round ?? null]
      const rows = await query<{ exchange: string }>(op, text, values)
      return rows.map(({ exchange }) => upgradeExchange(JSON.parse(exchange) as Exchange))
    },
    async delete(threadId) {
      await ready(op)
      await query(op, `DELETE FROM ${table} WHERE thread = $1`, [toColumn(threadId)])
    },
  }
}
