import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { VoiceResults } from './report.ts'
import { markdown, withVoice } from './report.ts'

const here = join(import.meta.dirname, '..')
const cache = join(here, '.cache')

/** Writes the results, and names the files. Those that are not to be kept are left in `.cache/`. */
export async function writeVoice(measured: VoiceResults, save: boolean): Promise<string[]> {
  if (!save) {
    await mkdir(cache, { recursive: true })
    return [
      await write(join(cache, 'voice.json'), json(measured)),
      await write(join(cache, 'voice.md'), `${markdown(measured)}\n`),
    ]
  }
  const [kept, page] = [join(here, 'voice/results.json'), join(here, 'README.md')]
  const results = withBefore(measured, await readFile(kept, 'utf8').catch(() => undefined))
  const written = [await write(kept, json(results))]
  const text = withVoice(await readFile(page, 'utf8'), markdown(results))
  return text === undefined ? written : [...written, await write(page, text)]
}

/** What was not measured again stays as it was. */
function withBefore(now: VoiceResults, kept: string | undefined): VoiceResults {
  const before: VoiceResults | undefined = kept === undefined ? undefined : JSON.parse(kept)
  return before?.mode === now.mode ? { ...before, ...now } : now
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

async function write(path: string, text: string): Promise<string> {
  await writeFile(path, text)
  return path
}
