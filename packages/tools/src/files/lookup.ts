import type { ToolContext } from 'millrace'
import { named } from './failures.ts'
import type { Folder } from './folder.ts'
import type { Ignored } from './ignore.ts'
import { likeNames } from './nearby.ts'
import { mustPermit } from './permit.ts'
import { notRegular, type Workspace } from './workspace.ts'

/** What the tools that look around have in common. */
export interface Lookup {
  readonly workspace: Workspace
  readonly maxResults: number
  readonly ignore: readonly string[]
  readonly ignored: Ignored
  /** The path of ripgrep, if that is to be used. */
  readonly ripgrep: string | undefined
}

/** Opens a folder to look through, or the folder of a file if `only` may be given. Throws a sentence if there is none. */
export async function openFolder<T>(
  workspace: Workspace,
  path: string,
  context: ToolContext,
  work: (folder: Folder, only?: string) => Promise<T>,
  { orFile = false } = {},
): Promise<T> {
  return workspace.at(path, async (place) => {
    const { folder, name, stats, path } = place
    await mustPermit(context, 'read', path)
    if (!stats)
      throw new Error(`There is no folder ${named(path)} in the workspace${await likeNames(place, context)}.`)
    if (stats.isFile() && orFile) return work(folder, name)
    if (stats.isFile()) throw new Error(`${named(path)} is a file, not a folder: read_file shows it.`)
    if (!stats.isDirectory()) throw notRegular(path, stats)
    if (name === '.') return work(folder)
    const opened = await folder.open(name)
    try {
      return await work(opened)
    } finally {
      await opened.close()
    }
  })
}
