import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { Folder } from './folder.ts'
import type { Ignored } from './ignore.ts'

/** Files next to each other in one folder, which stays open until the next are asked for. */
export interface Run {
  readonly folder: Folder
  readonly names: readonly string[]
}

// Each level holds a folder open.
const maxDepth = 100

/** What is in a folder, by name. Nothing if it cannot be read; names that no path can be written with are left out. */
export async function entriesOf(folder: Folder): Promise<Dirent[]> {
  const entries = await readdir(folder.at, { withFileTypes: true }).catch(() => [])
  return entries
    .filter(({ name }) => !/[\p{Cc}\\]/u.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

export function pathIn(folder: Folder, name: string): string {
  return folder.path === '' ? name : `${folder.path}/${name}`
}

/** The regular files below a folder, in the order of their paths. Follows no link at all. `start` stays the caller's to close. */
export async function* walkFiles(start: Folder, ignored: Ignored, signal: AbortSignal): AsyncGenerator<Run> {
  const top = start.path || '.'
  const way = [{ folder: start, entries: await entriesOf(start), at: 0 }]
  try {
    for (let here = way.at(-1); here; here = way.at(-1)) {
      signal.throwIfAborted()
      const { folder } = here
      const names: string[] = []
      let below: Dirent | undefined
      while (here.at < here.entries.length && !below) {
        const entry = here.entries[here.at++] as Dirent
        if (ignored(pathIn(folder, entry.name), top)) continue
        if (entry.isFile()) names.push(entry.name)
        else if (entry.isDirectory() && way.length < maxDepth) below = entry
      }
      if (names.length > 0) yield { folder, names }
      if (below) {
        // Gone, closed to us, or a link by now: there is nothing to find then.
        const next = await folder.open(below.name).catch(() => undefined)
        if (next) way.push({ folder: next, entries: await entriesOf(next), at: 0 })
      } else if (here.at >= here.entries.length) {
        way.pop()
        if (folder !== start) await folder.close()
      }
    }
  } finally {
    await Promise.all(way.filter(({ folder }) => folder !== start).map(({ folder }) => folder.close()))
  }
}
