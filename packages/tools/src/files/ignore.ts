import { posix } from 'node:path'
import picomatch from 'picomatch'
import { unfinished } from './replace.ts'

/** Git's internal files and installed packages are never searched. */
export const alwaysIgnored = ['.git', 'node_modules']

/**
 * Whether a path or one of its parent folders is ignored. Folders down to `start` were named
 * explicitly and are not.
 */
export type Ignored = (path: string, start: string) => boolean

/**
 * As in a .gitignore, a glob without `/` matches names in any folder, one with `/` matches paths
 * from the workspace.
 */
export function ignoreFilter(globs: readonly string[]): Ignored {
  const bare = [...alwaysIgnored, ...globs].map((glob) =>
    glob.replace(/^\.?\//, '').replace(/\/(\*\*)?$/, ''),
  )
  const options = { dot: true, nonegate: true, posix: true }
  const names = picomatch(
    bare.filter((glob) => !glob.includes('/')),
    options,
  )
  const paths = picomatch(
    bare.filter((glob) => glob.includes('/')),
    options,
  )
  return (path, start) => {
    for (let at = path; at !== start && at !== '.' && at !== ''; at = posix.dirname(at)) {
      const name = posix.basename(at)
      if (names(name) || paths(at) || unfinished.test(name)) return true
    }
    return false
  }
}
