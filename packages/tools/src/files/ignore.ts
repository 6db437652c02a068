import { posix } from 'node:path'
import picomatch from 'picomatch'
import { unfinished } from './replace.ts'

/** Never worth looking through: what git keeps for itself, and what others have written. */
export const alwaysIgnored = ['.git', 'node_modules']

/** Whether a path of the workspace, or a folder it is in, is left out; folders down to `start` have been asked for by name. */
export type Ignored = (path: string, start: string) => boolean

/** A glob without `/` is about names in any folder, one with it about paths from the workspace on: as in a .gitignore. */
export function ignoring(globs: readonly string[]): Ignored {
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
