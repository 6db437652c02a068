import type { ToolContext } from 'millrace'
import type { PathAccess } from 'millrace/internal'
import { named } from './failures.ts'

/** Throws the reason as a sentence if the agent's rules are against it. */
export async function mustPermit(
  context: ToolContext,
  kind: PathAccess['kind'],
  path: string,
): Promise<void> {
  const reason = await context.permits({ kind, path })
  if (reason !== undefined)
    throw new Error(`${named(path)} may not be ${kind === 'read' ? 'read' : 'written'}: ${reason}.`)
}
