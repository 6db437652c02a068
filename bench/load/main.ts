import { machine } from '../report/machine.ts'
import { runCommand } from '../runner/command.ts'
import type { Measured } from './measured.ts'
import type { Options } from './options.ts'
import { help, readOptions } from './options.ts'
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

await runCommand({ help, readOptions, act: load })
