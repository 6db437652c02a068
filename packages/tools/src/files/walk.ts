import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { Folder } from './folder.ts'
import type { Ignored } from './ignore.ts'

/** Files of one folder, which stays open until the next batch is requested. */
export interface FileBatch {
  readonly folder: Folder
  readonly names: readonly string[]
}

// Each level keeps a folder open.
const maxDepth = 100

/**
 * The entries of a folder, sorted by name. Empty if it cannot be read; skips names that paths
 * cannot express.
 */
export async function entriesOf(folder: Folder): Promise<Dirent[]> {
  const entries = await readdir(folder.at, { withFileTypes: true }).catch(() => [])
  return entries
    .filter(({ name }) => !/[\p{Cc}\\]/u.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

export function pathIn(folder: Folder, name: string): string {
  return folder.path === '' ? name : `${folder.path}/${name}`
}

/**
 * The regular files below a folder, sorted by path. Never follows links. The caller closes `start`.
 */
export async function* walkFiles(
  start: Folder,
  ignored: Ignored,
  signal: AbortSignal,
): AsyncGenerator<FileBatch> {
  const top = start.path || '.'
  const stack = [{ folder: start, entries: await entriesOf(start), at: 0 }]
  try {
    for (let here = stack.at(-1); here; here = stack.at(-1)) {
      signal.throwIfAborted()
      const { folder } = here
      const names: string[] = []
      let below: Dirent | undefined
      while (here.at < here.entries.length && !below) {
        const entry = here.entries[here.at++] as Dirent
        if (ignored(pathIn(folder, entry.name), top)) continue
        if (entry.isFile()) names.push(entry.name)
        else if (entry.isDirectory() && stack.length < maxDepth) below = entry
      }
      if (names.length > 0) yield { folder, names }
      if (below) {
        // Removed, not readable, or replaced by a link in the meantime: skip it.
        const next = await folder.open(below.name).catch(() => undefined)
        if (next) stack.push({ folder: next, entries: await entriesOf(next), at: 0 })
      } else if (here.at >= here.entries.length) {
        stack.pop()
        if (folder !== start) await folder.close()
      }
    }
  } finally {
    await Promise.all(stack.filter(({ folder }) => folder !== start).map(({ folder }) => folder.close()))
  }
}
