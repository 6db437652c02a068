import { constants } from 'node:fs/promises'
import type { Folder } from './folder.ts'
import type { Ignored } from './ignore.ts'
import type { LineMatcher } from './line-matcher.ts'
import type { Hit, Query } from './ripgrep.ts'
import { binaryKindOf, decodeText } from './text.ts'
import { type FileBatch, pathIn, walkFiles } from './walk.ts'

// Files are read whole, one at a time.
const maxBytes = 32 * 2 ** 20

/** The pattern of a query as a JavaScript RegExp. Throws a SyntaxError if it is invalid. */
export function scanPattern({ pattern, literal, ignoreCase }: Omit<Query, 'limit'>): RegExp {
  if (literal) return new RegExp(pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), ignoreCase ? 'i' : '')
  // Supports a leading `(?i)` as in ripgrep, which JavaScript lacks.
  const [inline = '', letters = ''] = /^\(\?([is]+)\)/.exec(pattern) ?? []
  const flags = [...new Set((ignoreCase ? 'i' : '') + letters)].join('')
  const source = pattern.slice(inline.length)
  try {
    return new RegExp(source, `${flags}u`)
  } catch {
    // Without `u`, patterns such as `\-` and `a{` are valid too.
    return new RegExp(source, flags)
  }
}

export interface ScanOptions {
  readonly start: Folder
  /** Search only this file. */
  readonly only: string | undefined
  readonly ignored: Ignored
  readonly lines: LineMatcher
  /** Matches paths relative to the start; all if absent. */
  readonly glob: LineMatcher | undefined
  readonly signal: AbortSignal
}

/** The matching lines, sorted by path, without ripgrep. Slower, and ignores .gitignore. */
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
  { folder, names }: FileBatch,
  below: number,
  glob: LineMatcher | undefined,
): Promise<readonly string[]> {
  if (!glob) return names
  const paths = names.map((name) => pathIn(folder, name).slice(below))
  return (await glob.match(paths.join('\n'))).map((number) => names[number - 1] as string)
}

/** Undefined if it is not text, too large, or cannot be read. */
async function textOf(folder: Folder, name: string): Promise<string | undefined> {
  const file = await folder.openFile(name, constants.O_RDONLY).catch(() => undefined)
  if (!file) return undefined
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > maxBytes) return undefined
    const bytes = await file.readFile()
    if (binaryKindOf(bytes)) return undefined
    // A trailing line break does not start another line.
    return decodeText(bytes).text.replace(/\r?\n$/, '')
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
