import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadResults } from './report.ts'
import { markdown, withLoad } from './report.ts'

const here = join(import.meta.dirname, '..')
export const cache = join(here, '.cache')

/** Writes the results, and names the files. Those that are not to be kept are left in `.cache/`. */
export async function writeLoad(measured: LoadResults, save: boolean): Promise<string[]> {
  if (!save) {
    await mkdir(cache, { recursive: true })
    return [
      await write(join(cache, 'load.json'), json(measured)),
      await write(join(cache, 'load.md'), `${markdown(measured)}\n`),
    ]
  }
  const [kept, page] = [join(here, 'load/results.json'), join(here, 'README.md')]
  const results = withBefore(measured, await readFile(kept, 'utf8').catch(() => undefined))
  const written = [await write(kept, json(results))]
  const text = withLoad(await readFile(page, 'utf8'), markdown(results))
  return text === undefined ? written : [...written, await write(page, text)]
}

/** Scenes that were not played again stay as they were, in their order. */
function withBefore(now: LoadResults, kept: string | undefined): LoadResults {
  const before: LoadResults | undefined = kept === undefined ? undefined : JSON.parse(kept)
  if (before?.mode !== now.mode) return now
  const fresh = new Map(now.scenes.map((scene) => [scene.scene, scene]))
  const scenes = before.scenes.map((old) => fresh.get(old.scene) ?? old)
  const added = now.scenes.filter(({ scene }) => !before.scenes.some((old) => old.scene === scene))
  return { ...now, scenes: [...scenes, ...added] }
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

async function write(path: string, text: string): Promise<string> {
  await writeFile(path, text)
  return path
}
