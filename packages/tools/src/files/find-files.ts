import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import type { Folder } from './folder.ts'
import { globPattern } from './glob.ts'
import { lineMatcher } from './line-matcher.ts'
import { type Lookup, openFolder } from './lookup.ts'
import { ripgrepFiles } from './ripgrep.ts'
import { pathIn, walkFiles } from './walk.ts'
import type { Workspace } from './workspace.ts'

interface FindInput {
  readonly pattern: string
  readonly path?: string
}

const input: JsonSchema<FindInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      pattern: {
        type: 'string',
        maxLength: 1000,
        description: "A glob such as 'src/**/*.ts'; one without / is for names in any folder",
      },
      path: { type: 'string', description: 'The folder to look in, relative to the workspace (.)' },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
}

export function findFilesTool(lookup: Lookup): Tool {
  const { workspace, maxResults } = lookup

  async function find({ pattern, path = '.' }: FindInput, context: ToolContext): Promise<string> {
    const glob = globPattern(pattern, workspace.root)
    return openFolder(workspace, path, context, async (start) => {
      const found = await matching(start, glob, lookup, context.signal)
      if (found.length === 0)
        return `[no file matches ${pattern}${pattern.startsWith('/') ? ', which is looked for in the workspace alone' : ''}]`
      const more = found.length > maxResults
      return [
        ...found.slice(0, maxResults),
        ...(more ? [`[the first ${maxResults}, there are more: narrow the pattern]`] : []),
      ].join('\n')
    })
  }

  return tool({
    name: 'find_files',
    description:
      'Find files of the workspace by a glob, sorted by path. Leaves out .git, node_modules and what is ignored: name such a folder as path to look into it.',
    input,
    repeat: 'safe',
    access: ({ path = '.' }) => workspace.access('read', path),
    run: (input, context: ToolContext) => find(input, context),
  })
}

/** One more than are shown, if there are. */
async function matching(start: Folder, glob: RegExp, lookup: Lookup, signal: AbortSignal): Promise<string[]> {
  const matcher = lineMatcher(glob, { signal })
  try {
    const found: string[] = []
    const below = start.path === '' ? 0 : start.path.length + 1
    for await (const paths of filesBelow(start, lookup, signal)) {
      const numbers = await matcher.match(paths.map((path) => path.slice(below)).join('\n'))
      for (const path of numbers.map((number) => paths[number - 1] as string)) {
        if (await isThere(lookup.workspace, path)) found.push(path)
        if (found.length > lookup.maxResults) return found
      }
    }
    return found
  } finally {
    await matcher.close()
  }
}

/** The paths of the files below a folder, in order, some at a time. */
async function* filesBelow(start: Folder, lookup: Lookup, signal: AbortSignal): AsyncGenerator<string[]> {
  const { workspace, ignore, ignored, ripgrep } = lookup
  const top = start.path || '.'
  if (ripgrep !== undefined) {
    let usable = true
    const refused = () => {
      usable = false
    }
    const options = { program: ripgrep, cwd: workspace.root, start: start.path, ignore, signal, refused }
    for await (const paths of ripgrepFiles(options)) yield paths.filter((path) => !ignored(path, top))
    if (usable) return
  }
  for await (const { folder, names } of walkFiles(start, ignored, signal))
    yield names.map((name) => pathIn(folder, name))
}

/** Whether a file is where ripgrep has seen one: it goes by paths, and may have been led astray by a link. */
function isThere(workspace: Workspace, path: string): Promise<boolean> {
  return workspace
    .at(path, async (place) => place.path === path && place.stats?.isFile() === true)
    .catch(() => false)
}
