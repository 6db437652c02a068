import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Access } from '../policy.ts'

/**
 * The same with every link followed, also one to what is not there yet: a shell that writes to `link` makes what the link
 * names. Only a sandbox can keep it from leading elsewhere a moment later.
 */
export function withoutLinks(access: Access, root: string): Access {
  if ((access.kind !== 'read' && access.kind !== 'write') || access.opaque) return access
  const real = followed(resolve(root, access.path))
  // What a command cannot open either needs no look.
  if (real === undefined) return access.implied ? access : { ...access, opaque: true }
  const way = relative(root, real)
  return { ...access, path: way === '' ? '.' : /^\.\.(?:\/|$)/.test(way) || isAbsolute(way) ? real : way }
}

/** As many as Linux follows: path_resolution(7). */
const mostLinks = 40

/** Undefined if it leads nowhere, or cannot be told. */
function followed(path: string, links = 0): string | undefined {
  if (links > mostLinks) return undefined
  try {
    return realpathSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
  }
  const folder = dirname(path) === path ? path : followed(dirname(path), links + 1)
  if (folder === undefined) return undefined
  const place = join(folder, path.slice(dirname(path).length))
  return isLink(place) ? followed(resolve(folder, readlinkSync(place)), links + 1) : place
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}
