import { readdir } from 'node:fs/promises'
import type { ToolContext } from 'millrace'
import { closest } from 'millrace/internal'
import { quotedPath } from './failures.ts'
import type { ResolvedPath } from './workspace.ts'

const maxShown = 12
// Each comparison is character by character.
const maxCompared = 2000

/** The first names in a folder, for an error message. */
export async function firstNames({ folder, name }: ResolvedPath): Promise<string> {
  const names = (await readdir(`${folder.at}/${name}`)).sort()
  if (names.length === 0) return 'nothing (it is empty)'
  const more = names.length - maxShown
  return names.slice(0, maxShown).map(quotedPath).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/**
 * The rest of an error message about a missing path: similar names in that folder, if it may be
 * read.
 */
export async function similarNames(
  { folder, missing, name }: ResolvedPath,
  context: ToolContext,
): Promise<string> {
  if ((await context.checkAccess({ kind: 'read', path: folder.path || '.' })) !== undefined) return ''
  const wanted = missing[0] ?? name
  const names = new Set((await readdir(folder.at)).slice(0, maxCompared))
  const like: string[] = []
  for (
    let next = closest(wanted, names);
    next !== undefined && like.length < 3;
    next = closest(wanted, names)
  ) {
    like.push(next)
    names.delete(next)
  }
  const where = folder.path ? `in ${quotedPath(folder.path)}` : 'in it'
  if (like.length > 0) return `; similar names ${where}: ${like.map(quotedPath).join(', ')}`
  return missing.length > 0
    ? `, nor a folder ${quotedPath(wanted)} ${where}`
    : `: use list_files to see what is there`
}
