import { machine } from '../report/machine.ts'
import type { Measured } from './measured.ts'
import type { Options } from './options.ts'
import { help, Misuse, readOptions } from './options.ts'
import { perform } from './perform.ts'
import type { LoadResults } from './report.ts'
import { printed } from './report.ts'
import { sizes } from './size.ts'
import { cache, writeLoad } from './write.ts'

const say = (text: string) => process.stderr.write(text)

async function load({ mode, scenes, profile, save }: Options, signal: AbortSignal): Promise<number> {
  const measured: Measured[] = []
  for (const scene of scenes)
    measured.push(
      await perform(scene, sizes[mode], {
        signal,
        profile: profile ? cache : undefined,
        onStep: (step) => say(`${scene.title}: ${step}\n`),
      }),
    )
  const results: LoadResults = {
    version: 1,
    date: new Date().toISOString().slice(0, 10),
    mode,
    node: process.version,
    machine: machine(),
    scenes: measured,
  }
  process.stdout.write(printed(results))
  for (const path of await writeLoad(results, save)) say(`wrote ${path}\n`)
  return measured.some(({ faults }) => faults.length > 0) ? 1 : 0
}

const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())
process.once('SIGTERM', () => interrupt.abort())
try {
  const options = readOptions(process.argv.slice(2))
  if (options) process.exitCode = await load(options, interrupt.signal)
  else process.stdout.write(help)
} catch (error) {
  if (interrupt.signal.aborted) process.exitCode = 130
  else if (error instanceof Misuse) {
    say(`${error.message}\n\n${help}`)
    process.exitCode = 2
  } else throw error
}
