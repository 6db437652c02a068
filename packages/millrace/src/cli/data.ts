import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { sqliteStore } from '../log/sqlite.ts'
import { MillraceError, messageOf } from '../protocol/index.ts'
import type { ThreadStore } from '../threads/index.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The database file: as given, or in the user's XDG data directory. */
export function dataPath(given: string | undefined, env: Environment = process.env): string {
  const chosen = given ?? env.MILLRACE_DATA?.trim()
  if (chosen) return resolve(chosen)
  const xdg = env.XDG_DATA_HOME?.trim()
  // "If an implementation encounters a relative path … it should consider the path invalid and ignore it."
  const base = xdg && isAbsolute(xdg) ? xdg : join(homedir(), '.local', 'share')
  return join(base, 'millrace', 'threads.db')
}

export interface OpenData {
  /** Whether to reject if the file does not exist, instead of creating it. */
  readonly mustExist?: boolean
  /** Whether a worker thread writes: its start takes as long as everything else that a question needs. */
  readonly worker?: boolean
}

export function openData(path: string, { mustExist = false, worker = false }: OpenData = {}): ThreadStore {
  if (mustExist && !existsSync(path))
    throw new MillraceError({
      op: 'millrace',
      code: 'not_found',
      message: `no threads yet at ${path}`,
    })
  // Conversations are private: only the user can read the file.
  const before = process.umask(0o077)
  try {
    createFolder(dirname(path))
    return sqliteStore(path, { worker })
  } finally {
    process.umask(before)
  }
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    const message = `cannot create the folder ${folder}: ${messageOf(cause)}; choose another file with --data`
    throw new MillraceError({ op: 'millrace', code: 'store_error', message, cause })
  }
}
