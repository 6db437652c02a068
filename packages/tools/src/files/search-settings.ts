import type { ToolContext } from 'millrace'
import { quotedPath } from './failures.ts'
import type { Folder } from './folder.ts'
import type { Ignored } from './ignore.ts'
import { requirePermission } from './permit.ts'
import { similarNames } from './similar-names.ts'
import { notRegular, type Workspace } from './workspace.ts'

/** What the listing and search tools share. */
export interface SearchSettings {
  readonly workspace: Workspace
  readonly maxResults: number
  readonly ignore: readonly string[]
  readonly ignored: Ignored
  /** The path of ripgrep, if it is used. */
  readonly ripgrep: string | undefined
}

/**
 * Opens a folder and calls `work` with it. With `orFile`, a file is accepted too: `work` gets its folder
 * and its name (`only`). Throws an explanation if the path does not exist.
 */
export async function openFolder<T>(
  workspace: Workspace,
  path: string,
  context: ToolContext,
  work: (folder: Folder, only?: string) => Promise<T>,
  { orFile = false } = {},
): Promise<T> {
  return workspace.at(path, async (resolved) => {
    const { folder, name, stats, path } = resolved
    await requirePermission(context, 'read', path)
    if (!stats)
      throw new Error(
        `There is no folder ${quotedPath(path)} in the workspace${await similarNames(resolved, context)}.`,
      )
    if (stats.isFile() && orFile) return work(folder, name)
    if (stats.isFile()) throw new Error(`${quotedPath(path)} is a file, not a folder: read_file shows it.`)
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
