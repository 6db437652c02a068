import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { callDisplay } from '../display.ts'
import { queueChange } from './change-queue.ts'
import { editorFile } from './editor-file.ts'
import { quotedPath } from './failures.ts'
import { requirePermission } from './permit.ts'
import { replaceFile } from './replace.ts'
import type { Workspace } from './workspace.ts'

interface WriteInput {
  readonly path: string
  readonly content: string
}

const input: JsonSchema<WriteInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Relative to the workspace; missing folders are created' },
      content: { type: 'string', description: 'The whole content of the file' },
    },
    required: ['path', 'content'],
    additionalProperties: false,
  },
}

export function writeFileTool(workspace: Workspace): Tool {
  return tool({
    name: 'write_file',
    description:
      'Write a whole file in the workspace: create it or replace it. Use edit_file to change part of a file.',
    input,
    repeat: 'safe',
    access: ({ path }) => workspace.access('write', path),
    display: ({ path, content }) => {
      const shown = workspace.shown(path)
      return callDisplay({
        kind: 'edit',
        title: `Write ${path}`,
        locations: shown.map((path) => ({ path })),
        diff: shown.map((path) => ({ path, newText: content })),
      })
    },
    run: async ({ path, content }, context: ToolContext) => {
      if (path.endsWith('/')) throw new Error(`${quotedPath(path)} is a folder: pass the name of a file.`)
      return queueChange(workspace, path, async (resolved) => {
        if (resolved.stats?.isDirectory())
          throw new Error(`${quotedPath(resolved.path)} is a folder: pass the name of a file in it.`)
        await requirePermission(context, 'write', resolved.path)
        const bytes = Buffer.from(content)
        const { write } = editorFile(workspace, resolved, 'utf-8', context) ?? {}
        await (write ? write(content) : replaceFile(resolved, bytes, context))
        const lines = linesIn(content)
        return `Wrote ${lines} ${lines === 1 ? 'line' : 'lines'} (${bytes.length} bytes) to ${resolved.path} (${resolved.stats ? 'replaced' : 'new file'}).`
      })
    },
  })
}

function linesIn(content: string): number {
  const breaks = content.split('\n').length - 1
  return content === '' || content.endsWith('\n') ? breaks : breaks + 1
}
