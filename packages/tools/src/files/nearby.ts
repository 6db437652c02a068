import { readdir } from 'node:fs/promises'
import type { ToolContext } from 'millrace'
import { closest } from 'millrace/internal'
import { named } from './failures.ts'
import type { Place } from './workspace.ts'

const maxShown = 12
// Each costs a comparison letter by letter.
const maxCompared = 2000

/** The first names in a folder, for a sentence. */
export async function namesShown({ folder, name }: Place): Promise<string> {
  const names = (await readdir(`${folder.at}/${name}`)).sort()
  if (names.length === 0) return 'nothing: it is empty'
  const more = names.length - maxShown
  return names.slice(0, maxShown).map(named).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** The rest of a sentence about what is not there: what is like it in that folder, if that may be known. */
export async function likeNames({ folder, missing, name }: Place, context: ToolContext): Promise<string> {
  if ((await context.permits({ kind: 'read', path: folder.path || '.' })) !== undefined) return ''
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
  const where = folder.path ? `in ${named(folder.path)}` : 'in it'
  if (like.length > 0) return `; ${where} there is ${like.map(named).join(', ')}`
  return missing.length > 0 ? `, nor a folder ${named(wanted)} ${where}` : `: list_files shows what is there`
}
