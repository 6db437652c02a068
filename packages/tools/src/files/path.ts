import { quotedPath } from './failures.ts'

/** The workspace's real path, and the path as configured, which absolute links inside may use. */
export interface Roots {
  readonly real: string
  readonly given: string
}

/**
 * Splits a path written by a model into names relative to the workspace. Keeps `..`, which only the walk
 * can resolve. Throws an explanation if the path cannot be inside the workspace.
 */
export function parsePath(path: string, roots: Roots): string[] {
  if (path === '') throw new Error("The path is empty: use '.' for the workspace itself.")
  if (path.includes('\0')) throw new Error('A path cannot contain a NUL byte.')
  if (/\p{Cc}/u.test(path))
    throw new Error(`A path cannot contain line breaks or other control characters: ${quotedPath(path)}.`)
  if (path.includes('\\')) throw new Error(`Use / in paths, not \\: ${quotedPath(path)}.`)
  if (path === '~' || path.startsWith('~/'))
    throw new Error(`~ is not expanded: paths are relative to the workspace, not ${quotedPath(path)}.`)
  const names = path.startsWith('/') ? belowRoot(path, roots) : namesIn(path)
  if (!names) throw outsideWorkspace(path)
  if (Buffer.byteLength(path) > 4096 || names.some((name) => Buffer.byteLength(name) > 255))
    throw new Error(`${quotedPath(path)} is too long: a name has at most 255 bytes, a path 4096.`)
  return names
}

/** The names of an absolute path relative to the workspace; undefined if it is outside. */
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

export function outsideWorkspace(path: string): Error {
  return new Error(
    `${quotedPath(path)} is outside the workspace: use a path inside it, relative to the workspace.`,
  )
}
