import { realpathSync, statSync } from 'node:fs'
import { resolve, sep } from 'node:path'

/** Where a command is to run, as a real path. Throws a sentence for the model if that is not a folder of the workspace. */
export function workplace(root: string, cwd: string | undefined): string {
  if (cwd === undefined) return root
  const path = resolve(root, cwd)
  const real = realPath(path)
  // Of what lies outside nothing is told, not even whether it is there.
  if (!isInside(root, real ?? path))
    throw new Error(
      `cwd must be a folder inside the workspace, and ${JSON.stringify(cwd)} is not; leave it out for the workspace itself`,
    )
  if (real === undefined) throw new Error(`there is no folder ${JSON.stringify(cwd)} in the workspace`)
  if (!statSync(real).isDirectory()) throw new Error(`${JSON.stringify(cwd)} is a file: cwd must be a folder`)
  return real
}

/** The same for a judgement beforehand, which must not fail: where it would run if that were possible. */
export function likelyWorkplace(root: string, cwd: string | undefined): string {
  const path = resolve(root, cwd ?? '.')
  return realPath(path) ?? path
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}
