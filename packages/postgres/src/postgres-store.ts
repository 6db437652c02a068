import type { OptionTable } from 'millrace/internal'
import {
  aFunction,
  checkOptions,
  duration,
  invalidInput,
  kindOf,
  someText,
  wholeNumber,
} from 'millrace/internal'
import type { ThreadStore } from 'millrace/store'
import type { Database } from './store/database.ts'
import { databaseStore } from './store/store.ts'

export interface PostgresStoreOptions {
  /** The schema for the tables, which are created if they do not exist. Default: `millrace`. */
  readonly schema?: string | undefined
  /** How many connections a process opens at most, and one more to listen. Default: 10. */
  readonly connections?: number | undefined
  /**
   * The address to listen at for changes by other processes, if the store's own is that of PgBouncer
   * or another proxy that shares connections between transactions. Without notifications, changes
   * are polled.
   */
  readonly listenUrl?: string | undefined
  /** How long a statement may take before the connection counts as lost. Default: 10 s. */
  readonly timeoutMs?: number | undefined
  /** How long to try again while the server cannot be reached. Default: 5 s. */
  readonly retryMs?: number | undefined
  /** Milliseconds since 1970. For tests that control the clock. Default: the server's clock. */
  readonly now?: (() => number) | undefined
}

const optionTable: OptionTable<PostgresStoreOptions> = {
  schema: someText,
  connections: wholeNumber(1),
  listenUrl: someText,
  timeoutMs: duration,
  retryMs: duration,
  now: aFunction,
}

const databases = new WeakMap<ThreadStore, Database>()

/** The database of a store that `postgresStore` has opened. */
export function databaseOf(store: ThreadStore): Database | undefined {
  return databases.get(store)
}

/**
 * Stores threads in PostgreSQL 13 or later, for any number of processes and machines. Connects with
 * the first call. A write is durable when its promise resolves.
 */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): ThreadStore {
  const op = 'postgresStore'
  checkOptions(options, optionTable, { op, what: 'the option of postgresStore()' })
  checkUrl(url, op)
  const {
    schema = 'millrace',
    connections = 10,
    listenUrl = url,
    timeoutMs = 10_000,
    retryMs = 5000,
  } = options
  const opened = databaseStore({ url, schema, connections, listenUrl, timeoutMs, retryMs, now: options.now })
  databases.set(opened.store, opened.database)
  return opened.store
}

function checkUrl(url: unknown, op: string): void {
  if (typeof url === 'string' && /^postgres(ql)?:\/\/./.test(url) && URL.canParse(url)) return
  throw invalidInput(
    op,
    `the address must look like postgres://user:password@host:5432/database, not ${typeof url === 'string' ? 'what was given' : kindOf(url)}`,
  )
}
