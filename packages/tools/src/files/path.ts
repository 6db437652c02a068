import { named } from './failures.ts'

/** Where the workspace lies: its real path, and the one it was given by, which links inside may well be written with. */
export interface Roots {
  readonly real: string
  readonly given: string
}

/**
 * The names that a path written by a model goes through, from the workspace on; `..` is left in, for only the walk knows what it
 * comes to. Throws a sentence if the path cannot be one inside.
 */
export function parsePath(path: string, roots: Roots): string[] {
  if (path === '') throw new Error("The path is empty: use '.' for the workspace itself.")
  if (path.includes('\0')) throw new Error('A path cannot hold a NUL byte.')
  if (/\p{Cc}/u.test(path))
    throw new Error(`A path cannot hold line breaks or other control characters: ${named(path)}.`)
  if (path.includes('\\')) throw new Error(`Paths are written with /, not with \\: ${named(path)}.`)
  if (path === '~' || path.startsWith('~/'))
    throw new Error(`~ is not expanded: paths are relative to the workspace, not ${named(path)}.`)
  const names = path.startsWith('/') ? belowRoot(path, roots) : namesIn(path)
  if (!names) throw leadsOut(path)
  if (Buffer.byteLength(path) > 4096 || names.some((name) => Buffer.byteLength(name) > 255))
    throw new Error(`${named(path)} is too long: a name has at most 255 bytes, a path 4096.`)
  return names
}

/** The names below the workspace of an absolute path; undefined if it does not begin there. */
export function belowRoot(path: string, { real, given }: Roots): string[] | undefined {
  for (const root of [real, given]) {
    const prefix = root === '/' ? root : `${root}/`
    if (path === root || path.startsWith(prefix)) return namesIn(path.slice(root.length))
  }
  return undefined
}

export function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

export function leadsOut(path: string): Error {
  return new Error(
    `${named(path)} leads out of the workspace, and only what is inside can be used: give a path relative to it.`,
  )
}
