import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { sqliteStore } from '../log/sqlite.ts'
import { MillraceError, messageOf } from '../protocol/index.ts'
import type { ThreadStore } from '../threads/index.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where threads are kept: as told, else where the XDG base directories put the data of a user. */
export function dataPath(given: string | undefined, env: Environment = process.env): string {
  const told = given ?? env.MILLRACE_DATA?.trim()
  if (told) return resolve(told)
  const xdg = env.XDG_DATA_HOME?.trim()
  // "If an implementation encounters a relative path … it should consider the path invalid and ignore it."
  const base = xdg && isAbsolute(xdg) ? xdg : join(homedir(), '.local', 'share')
  return join(base, 'millrace', 'threads.db')
}

/** Opens it, and makes it if it is not there yet. `mustExist` is for who only wants to look. */
export function openData(
  given: string | undefined,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): ThreadStore {
  const path = dataPath(given)
  if (mustExist && !existsSync(path))
    throw new MillraceError({
      op: 'millrace',
      code: 'not_found',
      message: `there are no threads yet at ${path}`,
    })
  // Conversations are nobody else's business.
  const before = process.umask(0o077)
  try {
    makeFolder(dirname(path))
    return sqliteStore(path)
  } finally {
    process.umask(before)
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    const message = `the folder ${folder} cannot be made: ${messageOf(cause)}; choose another file with --data`
    throw new MillraceError({ op: 'millrace', code: 'store_error', message, cause })
  }
}
