import { realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { ToolContext } from 'millrace'
import { messageOf, nestedRunOf } from 'millrace/internal'
import { untilAborted } from './until-aborted.ts'
import { type WorkspaceClient, workspaceClientOf } from './workspace-client.ts'

/** A file or folder that is open in the thread's editor. */
export interface OpenInEditor {
  readonly client: WorkspaceClient
  /** The path by which the editor knows it: its folder may have been opened through a link. */
  readonly path: string
}

/** Undefined without an editor, or if the path, which must be real, is outside its folders. */
export function inEditor(context: ToolContext, path: string): OpenInEditor | undefined {
  const client = workspaceClientOf(nestedRunOf(context).thread)
  for (const root of client?.roots ?? []) {
    const below = relative(realPath(root), path)
    if (client && below !== '..' && !below.startsWith(`..${sep}`)) return { client, path: join(root, below) }
  }
  return undefined
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Waits for the editor. `what` is what it was asked to do, for the message of a failure. */
export async function fromEditor<T>(what: string, answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await untilAborted(answer, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw new Error(`The editor could not ${what}: ${messageOf(error)}.`, { cause: error })
  }
}
