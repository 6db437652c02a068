import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { named } from './failures.ts'
import { mustPermit } from './permit.ts'
import { replaceFile } from './replace.ts'
import { changeAt } from './turns.ts'
import type { Workspace } from './workspace.ts'

interface WriteInput {
  readonly path: string
  readonly content: string
}

const input: JsonSchema<WriteInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Relative to the workspace; folders are made' },
      content: { type: 'string', description: 'All of the file' },
    },
    required: ['path', 'content'],
    additionalProperties: false,
  },
}

export function writeFileTool(workspace: Workspace): Tool {
  return tool({
    name: 'write_file',
    description:
      'Write a whole file of the workspace: a new one, or in place of what is there. To change a part of a file use edit_file.',
    input,
    repeat: 'safe',
    access: ({ path }) => workspace.access('write', path),
    run: async ({ path, content }, context: ToolContext) => {
      if (path.endsWith('/')) throw new Error(`${named(path)} names a folder: give the name of a file.`)
      return changeAt(workspace, path, async (place) => {
        if (place.stats?.isDirectory())
          throw new Error(`${named(place.path)} is a folder: give the name of a file in it.`)
        await mustPermit(context, 'write', place.path)
        const bytes = Buffer.from(content)
        await replaceFile(place, bytes, context)
        const lines = linesIn(content)
        return `Wrote ${lines} ${lines === 1 ? 'line' : 'lines'} (${bytes.length} bytes) to ${place.path} (${place.stats ? 'replaced' : 'new file'}).`
      })
    },
  })
}

function linesIn(content: string): number {
  const breaks = content.split('\n').length - 1
  return content === '' || content.endsWith('\n') ? breaks : breaks + 1
}
