import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OptionTable } from '../protocol/index.ts'
import { aFunction, checkOptions, duration, invalidInput, kindOf, yesOrNo } from '../protocol/index.ts'
import { failure } from './sqlite/failure.ts'
import { openDatabase } from './sqlite/open.ts'
import { databaseStore } from './sqlite/store.ts'
import type { ThreadStore } from './store.ts'

export interface SqliteStoreOptions {
  /** How long a call waits while other processes write, before it rejects; 30 s if absent. */
  readonly busyMs?: number | undefined
  /** How often to look for what other processes wrote, while the store is watched; 2 if absent. Up to 25 times as seldom while all are quiet. */
  readonly pollMs?: number | undefined
  /** Opens a file on NFS, SMB and the like, which is safe only as long as one machine uses it. */
  readonly allowNetworkFilesystem?: boolean | undefined
  /** Milliseconds since 1970. For tests that own the time. */
  readonly now?: (() => number) | undefined
}

const optionTable: OptionTable<SqliteStoreOptions> = {
  busyMs: duration,
  pollMs: duration,
  allowNetworkFilesystem: yesOrNo,
  now: aFunction,
}

/**
 * Keeps threads in one file, which is made if it is not there. Several processes of a machine may have it open; each write is on the
 * disk when it is told. Throws `store_error` if the file cannot be used, with what is wrong and what to do.
 */
export function sqliteStore(path: string | URL, options: SqliteStoreOptions = {}): ThreadStore {
  const op = 'sqliteStore'
  checkOptions(options, optionTable, { op, what: 'the option of sqliteStore()' })
  const { busyMs = 30_000, pollMs = 2, allowNetworkFilesystem = false, now = Date.now } = options
  const file = fileOf(path, op)
  const database = openDatabase(file, { allowNetworkFilesystem })
  try {
    return databaseStore(database, { path: file, now, busyMs, pollMs })
  } catch (error) {
    database.close()
    throw failure(error, { op, path: file })
  }
}

function fileOf(path: unknown, op: string): string {
  if (path instanceof URL) {
    if (path.protocol === 'file:') return fileURLToPath(path)
    throw invalidInput(op, `the path must be a file, not ${path.protocol}`)
  }
  if (path === ':memory:')
    throw invalidInput(op, "there is memoryStore() for what need not be kept; ':memory:' is no file")
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw invalidInput(
      op,
      `the path must be that of a file, such as 'data/threads.db', not ${path === '' ? 'empty' : kindOf(path)}`,
    )
  return resolve(path)
}
