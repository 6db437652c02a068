import { realpathSync, statSync } from 'node:fs'
import { resolve, sep } from 'node:path'

/**
 * The real path of a command's working directory. Throws a message for the model if it is not a
 * folder in the workspace.
 */
export function workingDirectory(root: string, cwd: string | undefined): string {
  if (cwd === undefined) return root
  const path = resolve(root, cwd)
  const real = realPath(path)
  // Says nothing about paths outside, not even whether they exist.
  if (!isInside(root, real ?? path))
    throw new Error(
      `cwd must be a folder inside the workspace, not ${JSON.stringify(cwd)}; omit it to use the workspace itself`,
    )
  if (real === undefined) throw new Error(`there is no folder ${JSON.stringify(cwd)} in the workspace`)
  if (!statSync(real).isDirectory()) throw new Error(`${JSON.stringify(cwd)} is a file: cwd must be a folder`)
  return real
}

/**
 * The same for permission checks before the run, which must not fail: the path even if it is
 * invalid.
 */
export function expectedWorkingDirectory(root: string, cwd: string | undefined): string {
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
