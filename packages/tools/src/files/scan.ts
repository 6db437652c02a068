import { constants } from 'node:fs/promises'
import type { Folder } from './folder.ts'
import type { Ignored } from './ignore.ts'
import type { LineMatcher } from './line-matcher.ts'
import type { Hit, Query } from './ripgrep.ts'
import { binaryKindOf, decodeText } from './text.ts'
import { pathIn, type Run, walkFiles } from './walk.ts'

// Read whole, one at a time.
const maxBytes = 32 * 2 ** 20

/** The pattern of a query as JavaScript has it. Throws a SyntaxError if it is none. */
export function scanPattern({ pattern, literal, ignoreCase }: Omit<Query, 'limit'>): RegExp {
  if (literal) return new RegExp(pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), ignoreCase ? 'i' : '')
  // As ripgrep and others have it, and JavaScript has not: `(?i)` for the whole of the pattern.
  const [inline = '', letters = ''] = /^\(\?([is]+)\)/.exec(pattern) ?? []
  const flags = [...new Set((ignoreCase ? 'i' : '') + letters)].join('')
  const source = pattern.slice(inline.length)
  try {
    return new RegExp(source, `${flags}u`)
  } catch {
    // Without `u` more is a pattern, such as `\-` and `a{`.
    return new RegExp(source, flags)
  }
}

export interface ScanOptions {
  readonly start: Folder
  /** The one file in it to look at. */
  readonly only: string | undefined
  readonly ignored: Ignored
  readonly lines: LineMatcher
  /** Of paths below the start; all if absent. */
  readonly glob: LineMatcher | undefined
  readonly signal: AbortSignal
}

/** The lines that match, in the order of the paths: what ripgrep does, where there is none. Slower, and knows no .gitignore. */
export async function* scanHits({
  start,
  only,
  ignored,
  lines,
  glob,
  signal,
}: ScanOptions): AsyncGenerator<Hit> {
  const runs = only === undefined ? walkFiles(start, ignored, signal) : [{ folder: start, names: [only] }]
  const below = start.path === '' ? 0 : start.path.length + 1
  for await (const { folder, names } of runs) {
    for (const name of await fitting({ folder, names }, below, glob)) {
      const text = await textOf(folder, name)
      if (text === undefined) continue
      for (const line of await lines.match(text)) yield { path: pathIn(folder, name), line }
    }
  }
}

async function fitting(
  { folder, names }: Run,
  below: number,
  glob: LineMatcher | undefined,
): Promise<readonly string[]> {
  if (!glob) return names
  const paths = names.map((name) => pathIn(folder, name).slice(below))
  return (await glob.match(paths.join('\n'))).map((number) => names[number - 1] as string)
}

/** Undefined if it is no text, too large, or cannot be read. */
async function textOf(folder: Folder, name: string): Promise<string | undefined> {
  const file = await folder.openFile(name, constants.O_RDONLY).catch(() => undefined)
  if (!file) return undefined
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > maxBytes) return undefined
    const bytes = await file.readFile()
    if (binaryKindOf(bytes)) return undefined
    // A last line break ends the last line, and begins none.
    return decodeText(bytes).text.replace(/\r?\n$/, '')
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
