import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OptionTable } from '../protocol/index.ts'
import { aFunction, checkOptions, duration, invalidInput, kindOf, yesOrNo } from '../protocol/index.ts'
import { failure } from './sqlite/failure.ts'
import { openDatabase } from './sqlite/open.ts'
import { remoteWriter, threadProgram } from './sqlite/remote-writer.ts'
import { databaseStore } from './sqlite/store.ts'
import type { WriterOptions } from './sqlite/writer.ts'
import type { ThreadStore } from './store.ts'

export interface SqliteStoreOptions {
  /** How long a call waits while other processes write before it rejects. Default: 30 s. */
  readonly busyMs?: number | undefined
  /**
   * Milliseconds between checks for writes by other processes, while the store is watched. Default:
   * 2. Checks less often while there are no changes.
   */
  readonly pollMs?: number | undefined
  /**
   * Allows a file on NFS, SMB and other network filesystems. Safe only while a single machine uses
   * it.
   */
  readonly allowNetworkFilesystem?: boolean | undefined
  /**
   * Whether a worker thread does all writing, so that a commit or a slow disk delays nothing else. Its
   * start takes about 100 ms of CPU time, which a program that soon exits can save. Default: true.
   */
  readonly worker?: boolean | undefined
  /** Milliseconds since 1970. For tests that control the clock. */
  readonly now?: (() => number) | undefined
}

const optionTable: OptionTable<SqliteStoreOptions> = {
  busyMs: duration,
  pollMs: duration,
  allowNetworkFilesystem: yesOrNo,
  worker: yesOrNo,
  now: aFunction,
}

/**
 * Stores threads in one file, which is created if it does not exist. Several processes of a machine
 * may have it open. A write is on disk when its promise resolves. Throws `store_error` if the file
 * cannot be used, with what is wrong and what to do.
 */
export function sqliteStore(path: string | URL, options: SqliteStoreOptions = {}): ThreadStore {
  const op = 'sqliteStore'
  checkOptions(options, optionTable, { op, what: 'the option of sqliteStore()' })
  const { busyMs = 30_000, pollMs = 2, allowNetworkFilesystem = false, worker = true, now } = options
  const file = fileOf(path, op)
  const program = worker ? threadProgram() : undefined
  const openWriter = program
    ? (options: WriterOptions) => remoteWriter(options, { program, clock: now })
    : undefined
  const database = openDatabase(file, { allowNetworkFilesystem })
  try {
    return databaseStore(database, { path: file, now: now ?? Date.now, busyMs, pollMs, openWriter })
  } catch (error) {
    database.close()
    throw failure(error, { op, path: file })
  }
}

function fileOf(path: unknown, op: string): string {
  if (path instanceof URL) {
    if (path.protocol === 'file:') return fileURLToPath(path)
    throw invalidInput(op, `the path must be a file: URL, not ${path.protocol}`)
  }
  if (path === ':memory:')
    throw invalidInput(op, "':memory:' is not a file: use memoryStore() for threads that need not be stored")
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw invalidInput(
      op,
      `the path must name a file, such as 'data/threads.db', not ${path === '' ? 'an empty string' : kindOf(path)}`,
    )
  return resolve(path)
}
