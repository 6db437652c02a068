import { spawnSync } from 'node:child_process'
import { type Command, helpOf, Misuse, readCommand } from './harness/options.ts'
import type { Saved } from './harness/part.ts'
import { machine, printed } from './harness/report.ts'
import { writeResults } from './harness/write.ts'
import { parts } from './parts.ts'

const say = (text: string) => process.stderr.write(text)
const onStep = (step: string) => say(process.stderr.isTTY ? `\r\x1b[2K${step}` : `${step}\n`)

/** Runs each part in its own process, because some measure that process. Returns the exit code. */
function runEach({ parts: selected, rest }: Command): number {
  const codes = selected.map(({ part }) => {
    const args = [import.meta.filename, part.name, ...rest]
    return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 130
  })
  return Math.max(...codes)
}

async function run({ parts: [selected], mode, save }: Command, signal: AbortSignal): Promise<number> {
  if (!selected) return 0
  const { part, options } = selected
  for (const command of mode === 'tiny' ? [] : (part.prepare ?? [])) {
    const { status } = spawnSync(command, { shell: true, stdio: 'inherit' })
    if (status !== 0) return 1
  }
  const measured = await part.run({ mode, size: part.sizes[mode], options, signal, onStep })
  onStep('')
  const results: Saved = {
    date: new Date().toISOString().slice(0, 10),
    mode,
    node: process.version,
    machine: machine(),
    ...measured,
  }
  process.stdout.write(printed(part, results))
  for (const path of await writeResults(part, results, save)) say(`wrote ${path}\n`)
  return part.faults(results).length > 0 ? 1 : 0
}

const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())
process.once('SIGTERM', () => interrupt.abort())
try {
  const command = readCommand(process.argv.slice(2), parts)
  if (!command) process.stdout.write(helpOf(parts))
  else process.exitCode = command.parts.length > 1 ? runEach(command) : await run(command, interrupt.signal)
} catch (error) {
  if (interrupt.signal.aborted) process.exitCode = 130
  else if (error instanceof Misuse) {
    say(`${error.message}\n`)
    process.exitCode = 2
  } else throw error
}
