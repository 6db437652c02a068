import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { callDisplay } from '../display.ts'
import type { Folder } from './folder.ts'
import { globPattern } from './glob.ts'
import { lineMatcher } from './line-matcher.ts'
import { ripgrepFiles } from './ripgrep.ts'
import { openFolder, type SearchSettings } from './search-settings.ts'
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
        description: "A glob such as 'src/**/*.ts'; without / it matches names in any folder",
      },
      path: { type: 'string', description: 'The folder to search, relative to the workspace; . by default' },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
}

export function findFilesTool(settings: SearchSettings): Tool {
  const { workspace, maxResults } = settings

  async function find({ pattern, path = '.' }: FindInput, context: ToolContext): Promise<string> {
    const glob = globPattern(pattern, workspace.root)
    return openFolder(workspace, path, context, async (start) => {
      const found = await matching(start, glob, settings, context.signal)
      if (found.length === 0)
        return `[no file matches ${pattern}${pattern.startsWith('/') ? ' (searched only in the workspace)' : ''}]`
      const more = found.length > maxResults
      return [
        ...found.slice(0, maxResults),
        ...(more ? [`[first ${maxResults} results, there are more: narrow the pattern]`] : []),
      ].join('\n')
    })
  }

  return tool({
    name: 'find_files',
    description:
      'Find files in the workspace by glob, sorted by path. Skips .git, node_modules and ignored files: pass such a folder as path to search it.',
    input,
    repeat: 'safe',
    access: ({ path = '.' }) => workspace.access('read', path),
    display: ({ pattern, path }) =>
      callDisplay({ kind: 'search', title: `Find ${pattern}${path === undefined ? '' : ` in ${path}`}` }),
    run: (input, context: ToolContext) => find(input, context),
  })
}

/** Returns one more than is shown, if there are more. */
async function matching(
  start: Folder,
  glob: RegExp,
  settings: SearchSettings,
  signal: AbortSignal,
): Promise<string[]> {
  const matcher = lineMatcher(glob, { signal })
  try {
    const found: string[] = []
    const below = start.path === '' ? 0 : start.path.length + 1
    for await (const paths of filesBelow(start, settings, signal)) {
      const numbers = await matcher.match(paths.map((path) => path.slice(below)).join('\n'))
      for (const path of numbers.map((number) => paths[number - 1] as string)) {
        if (await isThere(settings.workspace, path)) found.push(path)
        if (found.length > settings.maxResults) return found
      }
    }
    return found
  } finally {
    await matcher.close()
  }
}

/** The paths of the files below a folder, in order, in batches. */
async function* filesBelow(
  start: Folder,
  settings: SearchSettings,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const { workspace, ignore, ignored, ripgrep } = settings
  const top = start.path || '.'
  if (ripgrep !== undefined) {
    let usable = true
    const onUnsupported = () => {
      usable = false
    }
    const options = {
      program: ripgrep,
      cwd: workspace.root,
      start: start.path,
      ignore,
      signal,
      onUnsupported,
    }
    for await (const paths of ripgrepFiles(options)) yield paths.filter((path) => !ignored(path, top))
    if (usable) return
  }
  for await (const { folder, names } of walkFiles(start, ignored, signal))
    yield names.map((name) => pathIn(folder, name))
}

/**
 * Checks a result of ripgrep, which resolves paths itself and may have followed a link created
 * meanwhile.
 */
function isThere(workspace: Workspace, path: string): Promise<boolean> {
  return workspace
    .at(path, async (resolved) => resolved.path === path && resolved.stats?.isFile() === true)
    .catch(() => false)
}
