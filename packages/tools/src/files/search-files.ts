import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { callDisplay } from '../display.ts'
import { quotedPath } from './failures.ts'
import type { Folder } from './folder.ts'
import { globPattern } from './glob.ts'
import { type LineMatcher, lineMatcher } from './line-matcher.ts'
import { matchingLines } from './matching-lines.ts'
import { type Hit, type Query, ripgrepHits } from './ripgrep.ts'
import { scanHits, scanPattern } from './scan.ts'
import { openFolder, type SearchSettings } from './search-settings.ts'
import { pathIn } from './walk.ts'

interface SearchInput {
  readonly pattern: string
  readonly path?: string
  readonly glob?: string
  readonly ignore_case?: boolean
  readonly literal?: boolean
  readonly context?: number
}

const input: JsonSchema<SearchInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      pattern: {
        type: 'string',
        minLength: 1,
        maxLength: 1000,
        description: 'A regular expression, matched line by line',
      },
      path: {
        type: 'string',
        description: 'The folder or file to search, relative to the workspace; . by default',
      },
      glob: {
        type: 'string',
        maxLength: 1000,
        description: "Only files such as '*.ts' or 'src/**/*.ts', as in find_files",
      },
      ignore_case: { type: 'boolean' },
      literal: { type: 'boolean', description: 'The pattern is plain text, not a regular expression' },
      context: {
        type: 'integer',
        minimum: 0,
        maximum: 5,
        description: 'Lines of context around each match; 0 by default',
      },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
}

export function searchFilesTool(settings: SearchSettings): Tool {
  const { workspace } = settings
  return tool({
    name: 'search_files',
    description:
      'Search the text of files in the workspace, line by line. Returns each path, followed by matching lines with their number (12:) and context lines (13-). Skips .git, node_modules, ignored files (pass such a folder as path to search it), and files that may not be read.',
    input,
    repeat: 'safe',
    access: ({ path = '.' }) => workspace.access('read', path),
    display: ({ pattern, path }) =>
      callDisplay({
        kind: 'search',
        title: `Search for ${pattern}${path === undefined ? '' : ` in ${path}`}`,
      }),
    run: async (input, context: ToolContext) => {
      const { pattern, literal = false } = input
      if (pattern.includes('\n') || (!literal && /(?<!\\)(\\\\)*\\n/.test(pattern)))
        throw new Error('The search is line by line: use a pattern without line breaks.')
      if (pattern.includes('\0')) throw new Error('A pattern cannot contain NUL bytes.')
      return search(input, settings, context)
    },
  })
}

async function search(input: SearchInput, settings: SearchSettings, context: ToolContext): Promise<string> {
  const { workspace, maxResults } = settings
  const { signal } = context
  const { pattern, path = '.', literal = false, ignore_case: ignoreCase = false } = input
  // One more than is shown, to detect that there are more.
  const query = { pattern, literal, ignoreCase, limit: maxResults + 1 }
  const pathPattern = input.glob === undefined ? undefined : globPattern(input.glob, workspace.root)
  return openFolder(
    workspace,
    path,
    context,
    async (start, only) => {
      const glob = only === undefined && pathPattern ? lineMatcher(pathPattern, { signal }) : undefined
      try {
        const found = hits(query, { start, only, glob }, settings, signal)
        return await present(inFiles(found), input, settings, context)
      } finally {
        await glob?.close()
      }
    },
    { orFile: true },
  )
}

interface Scope {
  readonly start: Folder
  readonly only: string | undefined
  readonly glob: LineMatcher | undefined
}

/** Searches with ripgrep if available and if it supports the pattern, otherwise with `scanHits`. */
async function* hits(
  query: Query,
  scope: Scope,
  settings: SearchSettings,
  signal: AbortSignal,
): AsyncGenerator<Hit> {
  const { workspace, ignore, ignored, ripgrep } = settings
  const { start, only, glob } = scope
  const top = start.path || '.'
  if (ripgrep !== undefined) {
    let usable = true
    const options = {
      program: ripgrep,
      cwd: workspace.root,
      start: only === undefined ? start.path : pathIn(start, only),
      ignore,
      signal,
      onUnsupported: () => {
        usable = false
      },
    }
    const below = start.path === '' ? 0 : start.path.length + 1
    let last = { path: '', fits: false }
    for await (const hit of ripgrepHits(query, options)) {
      if (hit.path !== last.path) last = { path: hit.path, fits: await fits(hit.path) }
      if (last.fits) yield hit
    }
    if (usable) return

    async function fits(path: string): Promise<boolean> {
      if (only !== undefined) return true
      if (ignored(path, top)) return false
      return !glob || (await glob.match(path.slice(below))).length > 0
    }
  }
  const lines = lineMatcher(compiled(query), { limit: query.limit, signal })
  try {
    yield* scanHits({ ...scope, ignored, lines, signal })
  } finally {
    await lines.close()
  }
}

function compiled(query: Query): RegExp {
  try {
    return scanPattern(query)
  } catch (error) {
    const flaw = (error as Error).message.replace(/^Invalid regular expression: .*: /s, '')
    throw new Error(
      `${quotedPath(query.pattern)} is not a valid regular expression (${flaw}): escape special characters with \\, or set literal.`,
    )
  }
}

/** Groups hits by file. */
async function* inFiles(hits: AsyncIterable<Hit>): AsyncGenerator<{ path: string; lines: number[] }> {
  let file: { path: string; lines: number[] } | undefined
  for await (const { path, line } of hits) {
    if (file && file.path !== path) yield file
    if (file?.path === path) file.lines.push(line)
    else file = { path, lines: [line] }
  }
  if (file) yield file
}

async function present(
  files: AsyncIterable<{ path: string; lines: number[] }>,
  input: SearchInput,
  { workspace, maxResults }: SearchSettings,
  context: ToolContext,
): Promise<string> {
  const shown: string[] = []
  let count = 0
  let more = false
  for await (const { path, lines } of files) {
    if (count >= maxResults) {
      more = true
      break
    }
    const part = lines.slice(0, maxResults - count)
    const text = await matchingLines(workspace, path, part, input.context ?? 0, context)
    if (text === undefined) continue
    shown.push(text)
    count += part.length
    if (part.length < lines.length) {
      more = true
      break
    }
  }
  if (count === 0) return `[no line matches ${input.pattern}]`
  if (more) shown.push(`[first ${count} matching lines, there are more: narrow the pattern, path or glob]`)
  return shown.join('\n\n')
}
