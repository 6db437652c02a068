import type { Dirent } from 'node:fs'
import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { named } from './failures.ts'
import type { Folder } from './folder.ts'
import { type Lookup, openFolder } from './lookup.ts'
import { sizeOf } from './text.ts'
import { entriesOf, pathIn } from './walk.ts'
import { statsOf, type Workspace } from './workspace.ts'

interface ListInput {
  readonly path?: string
  readonly depth?: number
}

const input: JsonSchema<ListInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The folder, relative to the workspace (.)' },
      depth: { type: 'integer', minimum: 1, maximum: 20, description: 'How many levels to show (1)' },
    },
    additionalProperties: false,
  },
}

export function listFilesTool(lookup: Lookup): Tool {
  const { workspace, maxResults, ignored } = lookup

  async function list({ path = '.', depth = 1 }: ListInput, context: ToolContext): Promise<string> {
    return openFolder(workspace, path, context, async (start) => {
      const lines: string[] = []
      let more = false
      const top = start.path || '.'

      async function show(folder: Folder, levels: number, prefix: string): Promise<void> {
        for (const entry of await entriesOf(folder)) {
          const path = pathIn(folder, entry.name)
          if (ignored(path, top)) continue
          if (lines.length >= maxResults) {
            more = true
            return
          }
          context.signal.throwIfAborted()
          lines.push(prefix + (await describe(workspace, folder, entry)))
          if (!entry.isDirectory() || levels === 1) continue
          const below = await folder.open(entry.name).catch(() => undefined)
          if (!below) continue
          try {
            await show(below, levels - 1, `${prefix}${entry.name}/`)
          } finally {
            await below.close()
          }
        }
      }

      await show(start, depth, '')
      if (lines.length === 0) return `[nothing to show in ${named(top)}]`
      return [
        ...lines,
        ...(more ? [`[the first ${lines.length}: give a path further down or a smaller depth]`] : []),
      ].join('\n')
    })
  }

  return tool({
    name: 'list_files',
    description:
      'List what is in a folder of the workspace, with sizes; folders end with /. Leaves out .git, node_modules and the like: name such a folder as path to look into it.',
    input,
    repeat: 'safe',
    access: ({ path = '.' }) => workspace.access('read', path),
    run: (input, context: ToolContext) => list(input, context),
  })
}

async function describe(workspace: Workspace, folder: Folder, entry: Dirent): Promise<string> {
  const { name } = entry
  if (entry.isDirectory()) return `${name}/`
  if (entry.isSymbolicLink()) return `${name} -> ${await targetOf(workspace, pathIn(folder, name))}`
  if (!entry.isFile()) return `${name} (not a regular file)`
  const stats = await statsOf(folder, name)
  return stats ? `${name} (${sizeOf(stats.size)})` : name
}

/** Where a link leads; not told of one that leads out, or nowhere. */
async function targetOf(workspace: Workspace, path: string): Promise<string> {
  try {
    return await workspace.at(path, async ({ path, stats }) =>
      stats ? path + (stats.isDirectory() ? '/' : '') : `${path} (not there)`,
    )
  } catch {
    return '(leads out of the workspace, or nowhere)'
  }
}
