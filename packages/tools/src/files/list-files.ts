import type { Dirent } from 'node:fs'
import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { callDisplay } from '../display.ts'
import { quotedPath } from './failures.ts'
import type { Folder } from './folder.ts'
import { openFolder, type SearchSettings } from './search-settings.ts'
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
      path: { type: 'string', description: 'The folder, relative to the workspace; . by default' },
      depth: {
        type: 'integer',
        minimum: 1,
        maximum: 20,
        description: 'How many levels to show; 1 by default',
      },
    },
    additionalProperties: false,
  },
}

export function listFilesTool(settings: SearchSettings): Tool {
  const { workspace, maxResults, ignored } = settings

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
      if (lines.length === 0) return `[nothing to show in ${quotedPath(top)}]`
      return [
        ...lines,
        ...(more ? [`[first ${lines.length} entries: pass a deeper path or a smaller depth]`] : []),
      ].join('\n')
    })
  }

  return tool({
    name: 'list_files',
    description:
      'List a folder of the workspace, with sizes; folders end with /. Skips .git, node_modules and ignored files: pass such a folder as path to list it.',
    input,
    repeat: 'safe',
    access: ({ path = '.' }) => workspace.access('read', path),
    display: ({ path = '.' }) => callDisplay({ kind: 'search', title: `List ${path}` }),
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

/** The target of a link, unless it is outside the workspace or missing. */
async function targetOf(workspace: Workspace, path: string): Promise<string> {
  try {
    return await workspace.at(path, async ({ path, stats }) =>
      stats ? path + (stats.isDirectory() ? '/' : '') : `${path} (missing)`,
    )
  } catch {
    return '(outside the workspace, or broken)'
  }
}
