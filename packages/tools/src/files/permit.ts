import type { ToolContext } from 'millrace'
import type { PathAccess } from 'millrace/internal'
import { quotedPath } from './failures.ts'

/** Throws the reason if the agent's permission rules do not allow the access. */
export async function requirePermission(
  context: ToolContext,
  kind: PathAccess['kind'],
  path: string,
): Promise<void> {
  const reason = await context.checkAccess({ kind, path })
  if (reason !== undefined)
    throw new Error(`${quotedPath(path)} may not be ${kind === 'read' ? 'read' : 'written'}: ${reason}.`)
}
