import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Access } from 'millrace'

/**
 * The same with every link followed, also one to what is not there yet: a shell that writes to `link` makes what the link
 * names. Only a sandbox can keep it from leading elsewhere a moment later.
 */
export function withoutLinks(access: Access, root: string): Access {
  if ((access.kind !== 'read' && access.kind !== 'write') || access.opaque) return access
  const real = followed(resolve(root, access.path))
  if (real === undefined) return { ...access, opaque: true }
  const way = relative(root, real)
  return { ...access, path: way === '' ? '.' : /^\.\.(?:\/|$)/.test(way) || isAbsolute(way) ? real : way }
}

/** As many as Linux follows: path_resolution(7). */
const mostLinks = 40

/** Where these lead depends on the process that asks: `/proc/self/cwd`, `/dev/fd/3`. */
const elsewhere = /^\/(?:proc|dev\/fd)(?:\/|$)/

/** Undefined if that cannot be told. */
export function followed(path: string): string | undefined {
  let real: string = sep
  const names = path.split(sep).filter(Boolean)
  let links = 0
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    real = name === '..' ? dirname(real) : join(real, name)
    if (elsewhere.test(real)) return undefined
    const target = targetOf(real)
    if (target === undefined) continue
    if (++links > mostLinks) return undefined
    names.unshift(...target.split(sep).filter((part) => part !== '' && part !== '.'))
    real = isAbsolute(target) ? sep : dirname(real)
  }
  return real
}

function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    // Not to be seen by this process, nor by a command of its user.
    return undefined
  }
}
