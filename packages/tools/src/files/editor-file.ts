import { join } from 'node:path'
import type { ToolContext } from 'millrace'
import { fromEditor, inEditor } from '../editor.ts'
import { quotedPath } from './failures.ts'
import { prepareFolder } from './replace.ts'
import type { Encoding } from './text.ts'
import { notRegular, type ResolvedPath, type Workspace } from './workspace.ts'

// An editor sends a whole file as one message. A larger file is read and written on disk.
const maxBytes = 8 * 2 ** 20

/** A file as the thread's editor has it, with changes that are not saved yet. */
export interface EditorFile {
  /** Undefined if the editor cannot read files. */
  readonly read: (() => Promise<string>) | undefined
  /** Undefined if the editor cannot write files. Creates missing folders. */
  readonly write: ((text: string) => Promise<void>) | undefined
}

/**
 * Undefined if the thread has no editor, the file is not in its folders, or its text is not UTF-8, which
 * editors may not expect. The editor is given the path without links, and follows it on its own: the path
 * is checked again after that.
 */
export function editorFile(
  workspace: Workspace,
  resolved: ResolvedPath,
  encoding: Encoding,
  context: ToolContext,
): EditorFile | undefined {
  const open = inEditor(context, join(workspace.root, resolved.path))
  if (!open || !encoding.startsWith('utf-8') || (resolved.stats?.size ?? 0) > maxBytes) return undefined
  const { client, path } = open
  const { signal } = context
  const shown = quotedPath(resolved.path)

  const check = () =>
    workspace.at(resolved.asked, async (now) => {
      if (now.path !== resolved.path)
        throw new Error(`${shown} was changed by another process at the same time: try again.`)
      if (now.stats && !now.stats.isFile()) throw notRegular(now.path, now.stats)
    })

  return {
    read:
      client.readTextFile &&
      (async () => {
        const text = await fromEditor(`read ${shown}`, read(), signal)
        await check()
        return text
      }),
    write:
      client.writeTextFile &&
      (async (text) => {
        await prepareFolder(resolved, async () => {
          signal.throwIfAborted()
          await fromEditor(`write ${shown}`, write(text), signal)
        })
        await check()
      }),
  }

  async function read() {
    return (await client.readTextFile?.(path, { signal })) ?? ''
  }

  async function write(text: string) {
    await client.writeTextFile?.(path, text, { signal })
  }
}
