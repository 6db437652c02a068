import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cache } from '../runner/import-module.ts'
import { chart } from './chart.ts'
import { markdown, withResults } from './markdown.ts'
import type { Results } from './results.ts'
import { withWorks } from './results.ts'
import { tablesOf } from './tables.ts'

/**
 * Writes the files of a run, and names them. A run that is not to be kept leaves them in `.cache/`; one of some works that is, takes
 * their place in what was kept before.
 */
export async function writeResults(
  measured: Results,
  save: boolean,
  here = join(import.meta.dirname, '..'),
): Promise<string[]> {
  const folder = save ? here : cache
  await mkdir(folder, { recursive: true })
  const before = save
    ? await readFile(join(folder, 'results.json'), 'utf8').catch(() => undefined)
    : undefined
  const results = before === undefined ? measured : withWorks(JSON.parse(before), measured)
  const written: string[] = []
  async function write(name: string, text: string) {
    const path = join(folder, name)
    await writeFile(path, text)
    written.push(path)
  }
  await write('results.json', `${JSON.stringify(results, null, 2)}\n`)
  await write('chart.svg', chart(results))
  const text = markdown(results, tablesOf(results))
  if (!save) await write('results.md', `${text}\n`)
  else {
    const page = withResults(await readFile(join(folder, 'README.md'), 'utf8'), text)
    if (page !== undefined) await write('README.md', page)
  }
  return written
}
