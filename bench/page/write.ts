import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { markdown, withPage } from './report.ts'
import type { PageResults } from './results.ts'

const here = join(import.meta.dirname, '..')
const cache = join(here, '.cache')

/** Writes the results, and names the files. Those that are not to be kept are left in `.cache/`. */
export async function writePage(results: PageResults, save: boolean): Promise<string[]> {
  const json = `${JSON.stringify(results, null, 2)}\n`
  if (!save) {
    await mkdir(cache, { recursive: true })
    return [
      await write(join(cache, 'page.json'), json),
      await write(join(cache, 'page.md'), `${markdown(results)}\n`),
    ]
  }
  const readme = join(here, 'README.md')
  const written = [await write(join(here, 'page/results.json'), json)]
  const text = withPage(await readFile(readme, 'utf8'), markdown(results))
  return text === undefined ? written : [...written, await write(readme, text)]
}

async function write(path: string, text: string): Promise<string> {
  await writeFile(path, text)
  return path
}
