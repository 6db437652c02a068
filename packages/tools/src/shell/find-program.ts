import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

/**
 * The file that would run: the path itself, relative to `cwd`, or the first match in the folders of
 * `path`.
 */
export function findProgram(name: string, path = '', cwd = '/'): string | undefined {
  const folders = path.split(delimiter).filter(Boolean)
  const candidates = name.includes('/') ? [name] : folders.map((folder) => join(folder, name))
  return candidates.map((file) => resolve(cwd, file)).find(isProgram)
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
