import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { MillraceError, messageOf } from '../../protocol/index.ts'
import { loadDriver } from './driver.ts'
import { failure, isBusy } from './failure.ts'
import { networkOfFolder } from './filesystem.ts'
import { migrate } from './migrate.ts'
import { applicationId, schema, schemaVersion } from './schema.ts'

const op = 'sqliteStore'

/**
 * How long opening waits while another process creates or closes the file. This blocks the event
 * loop.
 */
const openMs = 5000

/** The smallest page size of SQLite. */
const smallestDatabase = 512

/**
 * Opens the file of a store. Creates it if it does not exist, and migrates it if its version is
 * older. Throws `store_error` and does not touch files that are not ours.
 */
export function openDatabase(path: string, { allowNetworkFilesystem }: { allowNetworkFilesystem: boolean }) {
  checkPath(path, allowNetworkFilesystem)
  let isOld = false
  try {
    return untilUnlocked(() => {
      const { database, version } = connect(path)
      if (version === schemaVersion) return database
      isOld = true
      database.close()
      migrate(path)
      return connect(path).database
    })
  } catch (error) {
    throw isOld && isBusy(error) ? inUse(path, error) : failure(error, { op, path })
  }
}

function connect(path: string) {
  const Driver = loadDriver()
  const database = new Driver(path)
  try {
    // Long enough for a commit that is about to end. Longer waits must not block the process: see
    // commits.ts.
    database.exec('PRAGMA busy_timeout = 3')
    // Before anything is written, since the file may belong to another program.
    const found = versionOf(database, path)
    useWal(database, path)
    const version = found ?? createTables(database, path)
    database.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216')
    return { database, version }
  } catch (error) {
    database.close()
    throw error
  }
}

/** Reports problems that SQLite would only call "unable to open database file". */
function checkPath(path: string, allowNetworkFilesystem: boolean) {
  const folder = dirname(path)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    throw openError(`cannot create the folder of '${path}': ${messageOf(cause)}. Choose another path`, cause)
  }
  const file = statSync(path, { throwIfNoEntry: false })
  if (file?.isDirectory())
    throw openError(`'${path}' is a folder: name a file in it, such as '${path}/threads.db'`)
  // SQLite would treat a file of one byte as an empty one.
  if (file && file.size > 0 && file.size < smallestDatabase)
    throw openError(`'${path}' is not an SQLite database: choose another path`)
  if (file && !file.isFile()) throw openError(`'${path}' is not a regular file: choose another path`)
  for (const place of file ? [path, folder] : [folder]) {
    try {
      accessSync(place, constants.R_OK | constants.W_OK)
    } catch (cause) {
      const what = place === path ? `'${path}'` : `the folder of '${path}', where SQLite creates more files,`
      throw openError(
        `this user cannot read and write ${what}: change its permissions, or choose another path`,
        cause,
      )
    }
  }
  const network = allowNetworkFilesystem ? undefined : networkOfFolder(folder)
  if (network)
    throw openError(
      `'${path}' is on a network filesystem (${network}), where processes on two machines would corrupt it: choose a path on a local disk, or set allowNetworkFilesystem if only this machine will ever use it`,
    )
}

/** The version of our tables; undefined if the file is empty. */
function versionOf(database: DatabaseSync, path: string): number | undefined {
  // In this order: a process that creates the file sets all three in one transaction, perhaps
  // between two of these reads. If the tables were counted last, they would look like those of
  // another program.
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()
  const id = pragma(database, 'application_id')
  const version = pragma(database, 'user_version')
  if (id === applicationId) {
    if (version > schemaVersion)
      throw openError(
        `'${path}' was created by a newer version of millrace (it has schema ${version}, this package supports up to ${schemaVersion}): update millrace. Nothing was changed`,
      )
    return version
  }
  if (id === 0 && version === 0 && tables?.count === 0) return undefined
  throw openError(`'${path}' is a database of another program: choose another path. Nothing was changed`)
}

function useWal(database: DatabaseSync, path: string) {
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode
  if (mode !== 'wal')
    throw openError(
      `'${path}' is on a filesystem without shared memory, which SQLite needs for several processes: choose a path on a local disk`,
    )
}

/** Returns the version of the tables that exist afterwards. */
function createTables(database: DatabaseSync, path: string): number {
  database.exec('BEGIN IMMEDIATE')
  // Another process may have been faster, and may be older.
  const found = versionOf(database, path)
  if (found === undefined)
    database.exec(
      `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}; ${schema}`,
    )
  database.exec('COMMIT')
  return found ?? schemaVersion
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
}

/**
 * Retries a step until the file is not locked. Blocks the event loop while it sleeps, since opening
 * is synchronous.
 */
function untilUnlocked<Value>(step: () => Value): Value {
  const end = performance.now() + openMs
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return step()
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      Atomics.wait(sleeper, 0, 0, 1 + Math.random() * 20)
    }
  }
}

function inUse(path: string, cause: unknown): MillraceError {
  return openError(
    `'${path}' was created by an older version of millrace and must be migrated, but another process has it open: stop that process first. Nothing was changed`,
    cause,
  )
}

function openError(message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'store_error', message, cause })
}
