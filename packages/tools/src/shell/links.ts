import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Access } from 'millrace'

/**
 * The access with all links followed, including links to missing files: writing to `link` creates its
 * target. Only a sandbox can prevent a link from being changed a moment later.
 */
export function followAccessLinks(access: Access, root: string): Access {
  if ((access.kind !== 'read' && access.kind !== 'write') || access.opaque) return access
  const real = followLinks(resolve(root, access.path))
  if (real === undefined) return { ...access, opaque: true }
  const fromRoot = relative(root, real)
  return {
    ...access,
    path: fromRoot === '' ? '.' : /^\.\.(?:\/|$)/.test(fromRoot) || isAbsolute(fromRoot) ? real : fromRoot,
  }
}

/** The limit of Linux: path_resolution(7). */
const maxLinks = 40

/** Links that lead elsewhere in each process: `/proc/self/cwd`, `/dev/fd/3`. */
const processSpecific = /^\/(?:proc|dev\/fd)(?:\/|$)/

/** The path without links; undefined if it cannot be determined. */
export function followLinks(path: string): string | undefined {
  let real: string = sep
  const names = path.split(sep).filter(Boolean)
  let links = 0
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    real = name === '..' ? dirname(real) : join(real, name)
    if (processSpecific.test(real)) return undefined
    const target = targetOf(real)
    if (target === undefined) continue
    if (++links > maxLinks) return undefined
    names.unshift(...target.split(sep).filter((part) => part !== '' && part !== '.'))
    real = isAbsolute(target) ? sep : dirname(real)
  }
  return real
}

function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    // Not accessible to this process, nor to a command of the same user.
    return undefined
  }
}
