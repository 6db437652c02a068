import type { ResolvedPath, Workspace } from './workspace.ts'

const last = new Map<string, Promise<unknown>>()

/**
 * Resolves a path and changes the file, after all earlier changes of the same file in this process: two
 * edits in one round must not overwrite each other.
 */
export async function queueChange<T>(
  workspace: Workspace,
  path: string,
  work: (resolved: ResolvedPath) => Promise<T>,
): Promise<T> {
  const key = `${workspace.root}/${await workspace.at(path, async (resolved) => resolved.path)}`
  const before = last.get(key)
  const turn = (async () => {
    await before?.catch(() => {})
    return workspace.at(path, work)
  })()
  last.set(key, turn)
  try {
    return await turn
  } finally {
    if (last.get(key) === turn) last.delete(key)
  }
}
