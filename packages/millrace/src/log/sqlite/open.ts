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

/** How long opening may take because another process makes or leaves the file at the same moment. Nothing else goes on meanwhile. */
const openMs = 5000

/** The size of the smallest page there is. */
const smallestDatabase = 512

/**
 * Opens the file of a store. Makes it if it is not there, and brings it up to date if it is of an older version. Throws `store_error`
 * and leaves alone whatever is not ours.
 */
export function openDatabase(path: string, { allowNetworkFilesystem }: { allowNetworkFilesystem: boolean }) {
  checkPlace(path, allowNetworkFilesystem)
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
    // Long enough for a commit that is just ending. Longer waits must not stop everything else: see commits.ts.
    database.exec('PRAGMA busy_timeout = 3')
    // Before anything is written: this may be anybody's file.
    const found = versionOf(database, path)
    useWal(database, path)
    const version = found ?? makeTables(database, path)
    database.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216')
    return { database, version }
  } catch (error) {
    database.close()
    throw error
  }
}

/** What SQLite would only say as "unable to open database file". */
function checkPlace(path: string, allowNetworkFilesystem: boolean) {
  const folder = dirname(path)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    throw refusal(`the folder of '${path}' cannot be made: ${messageOf(cause)}. Choose another path`, cause)
  }
  const file = statSync(path, { throwIfNoEntry: false })
  if (file?.isDirectory())
    throw refusal(`'${path}' is a folder: name a file in it, such as '${path}/threads.db'`)
  // SQLite takes a file of one byte for an empty one.
  if (file && file.size > 0 && file.size < smallestDatabase)
    throw refusal(`'${path}' is not an SQLite database: choose another path`)
  if (file && !file.isFile()) throw refusal(`'${path}' is no ordinary file: choose another path`)
  for (const place of file ? [path, folder] : [folder]) {
    try {
      accessSync(place, constants.R_OK | constants.W_OK)
    } catch (cause) {
      const what = place === path ? `'${path}'` : `the folder of '${path}', which needs files beside it,`
      throw refusal(
        `${what} cannot be read and written to by this user: change its permissions, or choose another path`,
        cause,
      )
    }
  }
  const network = allowNetworkFilesystem ? undefined : networkOfFolder(folder)
  if (network)
    throw refusal(
      `'${path}' is on a network filesystem (${network}), where processes on two machines would destroy it: choose a path on a disk of this machine, or, if only this machine will ever use it, set allowNetworkFilesystem`,
    )
}

/** The version of our tables; undefined if there is nothing in the file yet. */
function versionOf(database: DatabaseSync, path: string): number | undefined {
  // In this order: another process that makes the file sets all three in one transaction, perhaps between two of these reads. With its
  // tables counted last, they would look like those of another program.
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()
  const id = pragma(database, 'application_id')
  const version = pragma(database, 'user_version')
  if (id === applicationId) {
    if (version > schemaVersion)
      throw refusal(
        `'${path}' was made by a newer millrace (its version is ${version}, this package knows up to ${schemaVersion}): update millrace. Nothing was changed`,
      )
    return version
  }
  if (id === 0 && version === 0 && tables?.count === 0) return undefined
  throw refusal(`'${path}' is the database of another program: choose another path. Nothing was changed`)
}

function useWal(database: DatabaseSync, path: string) {
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode
  if (mode !== 'wal')
    throw refusal(
      `'${path}' is on a filesystem without shared memory, which several processes need to use it together: choose a path on a disk of this machine`,
    )
}

/** Gives the version of the tables that are there after it. */
function makeTables(database: DatabaseSync, path: string): number {
  database.exec('BEGIN IMMEDIATE')
  // Somebody else may have been quicker, and older.
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

/** Sleeps in between without letting anything else happen: opening is one step for its caller. */
function untilUnlocked<Value>(step: () => Value): Value {
  const end = performance.now() + openMs
  const nobody = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return step()
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      Atomics.wait(nobody, 0, 0, 1 + Math.random() * 20)
    }
  }
}

function inUse(path: string, cause: unknown): MillraceError {
  return refusal(
    `'${path}' was made by an older millrace and is brought up to date when it is opened, but another process has it open: end that one first. Nothing was changed`,
    cause,
  )
}

function refusal(message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'store_error', message, cause })
}
