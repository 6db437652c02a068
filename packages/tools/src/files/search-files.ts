import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { named } from './failures.ts'
import type { Folder } from './folder.ts'
import { globPattern } from './glob.ts'
import { type LineMatcher, lineMatcher } from './line-matcher.ts'
import { type Lookup, openFolder } from './lookup.ts'
import { matchingLines } from './matching-lines.ts'
import { type Hit, type Query, ripgrepHits } from './ripgrep.ts'
import { scanHits, scanPattern } from './scan.ts'
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
        description: 'A regular expression, for one line',
      },
      path: { type: 'string', description: 'The folder or file to look in, relative to the workspace (.)' },
      glob: {
        type: 'string',
        maxLength: 1000,
        description: "Only files such as '*.ts' or 'src/**/*.ts', as in find_files",
      },
      ignore_case: { type: 'boolean' },
      literal: { type: 'boolean', description: 'The pattern is plain text, not a regular expression' },
      context: { type: 'integer', minimum: 0, maximum: 5, description: 'Lines to show around each (0)' },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
}

export function searchFilesTool(lookup: Lookup): Tool {
  const { workspace } = lookup
  return tool({
    name: 'search_files',
    description:
      'Search the text of the files of the workspace, line by line. Shows the path and below it each matching line with its number (12:), and lines around it (13-). Leaves out .git, node_modules and what is ignored (name such a folder as path to look into it), and files that may not be read.',
    input,
    repeat: 'safe',
    access: ({ path = '.' }) => workspace.access('read', path),
    run: async (input, context: ToolContext) => {
      const { pattern, literal = false } = input
      if (pattern.includes('\n') || (!literal && /(?<!\\)(\\\\)*\\n/.test(pattern)))
        throw new Error('The search goes line by line: give a pattern without line breaks.')
      if (pattern.includes('\0')) throw new Error('Text has no NUL bytes: give a pattern without.')
      return search(input, lookup, context)
    },
  })
}

async function search(input: SearchInput, lookup: Lookup, context: ToolContext): Promise<string> {
  const { workspace, maxResults } = lookup
  const { signal } = context
  const { pattern, path = '.', literal = false, ignore_case: ignoreCase = false } = input
  // One more than is shown, to know that there is more.
  const query = { pattern, literal, ignoreCase, limit: maxResults + 1 }
  const pathPattern = input.glob === undefined ? undefined : globPattern(input.glob, workspace.root)
  return openFolder(
    workspace,
    path,
    context,
    async (start, only) => {
      const glob = only === undefined && pathPattern ? lineMatcher(pathPattern, { signal }) : undefined
      try {
        const found = hits(query, { start, only, glob }, lookup, signal)
        return await present(inFiles(found), input, lookup, context)
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

/** By ripgrep where there is one and it knows such a pattern, else by ourselves. */
async function* hits(query: Query, scope: Scope, lookup: Lookup, signal: AbortSignal): AsyncGenerator<Hit> {
  const { workspace, ignore, ignored, ripgrep } = lookup
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
      refused: () => {
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
      `${named(query.pattern)} is not a regular expression (${flaw}): escape what is meant as it stands with \\, or set literal.`,
    )
  }
}

/** The hits of one file together. */
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
  { workspace, maxResults }: Lookup,
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
  if (more)
    shown.push(`[the first ${count} matching lines, there are more: narrow the pattern, path or glob]`)
  return shown.join('\n\n')
}
