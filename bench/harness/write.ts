import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { goalsTable } from '../goals.ts'
import type { AnyPart, Saved } from './part.ts'
import { markdown, markdownTable, withSection } from './report.ts'

const bench = join(import.meta.dirname, '..')
/** For unsaved results and profiles. */
export const cache = join(bench, '.cache')

/**
 * Writes the files of a run and returns their paths. Unsaved results go to `.cache/`, in files
 * named after the part. Saved ones go into `results.json`, under the part's name, and into the
 * README, where they also update the goals; older results that this run did not measure again stay there.
 */
export async function writeResults(part: AnyPart, measured: Saved, save: boolean): Promise<string[]> {
  const { name } = part
  await mkdir(cache, { recursive: true })
  if (!save)
    return writeAll(cache, {
      [`${name}.json`]: json(measured),
      [`${name}.md`]: `${markdown(part, measured)}\n`,
      ...part.files?.(measured),
    })
  const kept: Record<string, Saved> = JSON.parse(await readFile(join(bench, 'results.json'), 'utf8'))
  const results = merged(part, kept[name], measured)
  const saved = { ...kept, [name]: results }
  const before = await readFile(join(bench, 'README.md'), 'utf8')
  const page = withSection(before, name, markdown(part, results)) ?? before
  return writeAll(bench, {
    'results.json': json(saved),
    ...part.files?.(results),
    'README.md': withSection(page, 'goals', markdownTable(goalsTable(saved))) ?? page,
  })
}

/** The new results, merged into saved ones of the same mode. */
export const merged = (part: AnyPart, before: Saved | undefined, now: Saved): Saved =>
  before?.mode === now.mode ? (part.merge?.(before, now) ?? now) : now

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<string[]> {
  const paths = Object.entries(files).map(([name, text]) => [join(folder, name), text] as const)
  for (const [path, text] of paths) await writeFile(path, text)
  return paths.map(([path]) => path)
}
