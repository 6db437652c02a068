import type { JsonObject } from 'millrace'
import { fromColumn, patchedThread } from 'millrace/internal'
import type { Query } from './database.ts'
import type { Sql } from './sql.ts'

interface PatchableRow {
  readonly n: number
  readonly agent: string
  readonly title: string | null
  readonly metadata: string | null
}

export type PatchThread = (query: Query, id: string, patches: readonly JsonObject[]) => Promise<void>

/**
 * Changes the metadata of a thread, and what searches find of it, in a transaction that holds its
 * row of `heads`.
 */
export function threadPatcher({ table }: Sql): PatchThread {
  const find = `
    SELECT t.n, h.agent, t.title, t.metadata
    FROM ${table('heads')} AS h JOIN ${table('threads')} AS t ON t.n = h.n WHERE h.id = $1`
  const change = `UPDATE ${table('threads')} SET metadata = $2, search = $3 WHERE n = $1`

  return async (query, id, patches) => {
    const [row] = await query<PatchableRow>(find, [id])
    if (!row) return
    const { n, agent, title, metadata } = row
    const thread = {
      id: fromColumn(id),
      agent: fromColumn(agent),
      ...(title !== null && { title: fromColumn(title) }),
      ...(metadata !== null && { metadata: JSON.parse(metadata) as JsonObject }),
    }
    const patched = patchedThread(thread, patches)
    await query(change, [n, JSON.stringify(patched.metadata), patched.search])
  }
}
