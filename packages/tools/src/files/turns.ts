import type { Place, Workspace } from './workspace.ts'

const last = new Map<string, Promise<unknown>>()

/**
 * Walks to a path and changes what is there, when every earlier change of the same file in this process is done: two edits in one
 * round must not lose each other.
 */
export async function changeAt<T>(
  workspace: Workspace,
  path: string,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const key = `${workspace.root}/${await workspace.at(path, async (place) => place.path)}`
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
