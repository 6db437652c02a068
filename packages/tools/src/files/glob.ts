import picomatch from 'picomatch'
import { quotedPath } from './failures.ts'

/**
 * Compiles a glob for paths below the searched folder. A glob without `/` matches names in any folder.
 * A leading absolute path of the `root` is removed.
 */
export function globPattern(glob: string, root = ''): RegExp {
  const inside = root !== '' && glob.startsWith(`${root}/`) ? glob.slice(root.length) : glob
  const bare = inside.replace(/^(\.?\/)+/, '')
  if (bare.split('/').includes('..'))
    throw new Error(`A glob cannot contain '..': ${quotedPath(glob)}. Pass the folder to search as path.`)
  if (bare === '') throw new Error("The glob is empty: use '**' for all files.")
  const whole = bare.endsWith('/') ? `${bare}**` : bare
  return picomatch.makeRe(whole.includes('/') ? whole : `**/${whole}`, {
    dot: true,
    nonegate: true,
    posix: true,
  })
}
