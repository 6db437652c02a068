import picomatch from 'picomatch'
import { named } from './failures.ts'

/**
 * The pattern of a glob for paths below the folder it is about. One without `/` is for names in any folder below. Whoever gives the
 * whole path of the `root` in front means what is in it.
 */
export function globPattern(glob: string, root = ''): RegExp {
  const inside = root !== '' && glob.startsWith(`${root}/`) ? glob.slice(root.length) : glob
  const bare = inside.replace(/^(\.?\/)+/, '')
  if (bare.split('/').includes('..'))
    throw new Error(`A glob cannot go up with '..': ${named(glob)}. Give the folder to look in as path.`)
  if (bare === '') throw new Error("The glob is empty: use '**' for all files.")
  const whole = bare.endsWith('/') ? `${bare}**` : bare
  return picomatch.makeRe(whole.includes('/') ? whole : `**/${whole}`, {
    dot: true,
    nonegate: true,
    posix: true,
  })
}
