import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TelemetryResults } from './report.ts'
import { markdown, withTelemetry } from './report.ts'

const here = join(import.meta.dirname, '..')
export const cache = join(here, '.cache')

/** Writes the results, and names the files. Those that are not to be kept are left in `.cache/`. */
export async function writeTelemetry(results: TelemetryResults, save: boolean): Promise<string[]> {
  if (!save) {
    await mkdir(cache, { recursive: true })
    return [
      await write(join(cache, 'telemetry.json'), json(results)),
      await write(join(cache, 'telemetry.md'), `${markdown(results)}\n`),
    ]
  }
  const [kept, page] = [join(here, 'telemetry/results.json'), join(here, 'README.md')]
  const written = [await write(kept, json(results))]
  const text = withTelemetry(await readFile(page, 'utf8'), markdown(results))
  return text === undefined ? written : [...written, await write(page, text)]
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

async function write(path: string, text: string): Promise<string> {
  await writeFile(path, text)
  return path
}
