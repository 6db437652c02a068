import { startPart } from '../load/process.ts'
import { machine } from '../report/machine.ts'
import { versionOf } from '../report/versions.ts'
import { runCommand } from '../runner/command.ts'
import { figureOf } from './figures.ts'
import type { Group, Measured } from './measuring.ts'
import { measureSet } from './measuring.ts'
import type { Options } from './options.ts'
import { help, readOptions } from './options.ts'
import type { ReceiverAnswers } from './receiver.ts'
import type { TelemetryResults } from './report.ts'
import { printed } from './report.ts'
import { sizes } from './size.ts'
import { base, ways } from './ways.ts'
import { works } from './works.ts'
import { cache, writeTelemetry } from './write.ts'

const say = (text: string) => void process.stderr.write(`${text}\n`)

async function measureTelemetry(options: Options, signal: AbortSignal): Promise<number> {
  const { mode, save } = options
  const size = sizes[mode]
  const sets = options.repeat ?? size.sets
  const groups = groupsOf(options)
  const measured = new Map<Group, Measured[]>(groups.map((group) => [group, []]))
  const receiver = startPart<ReceiverAnswers>('../telemetry/receiver.ts', {})
  try {
    const url = await receiver.ask('open')
    const profile = options.profile ? cache : undefined
    for (let set = 0; set < sets; set++)
      for (const [group, made] of measured) {
        say(`${set + 1}/${sets} ${group.work.name} ${group.wire}`)
        made.push(await measureSet(group, { size, set, receiver, url, profile, signal }))
      }
  } finally {
    await receiver.stop()
  }
  const results: TelemetryResults = {
    version: 1,
    date: new Date().toISOString().slice(0, 10),
    mode,
    sets,
    node: process.version,
    machine: machine(),
    packages: packages(),
    figures: [...measured].flatMap(([{ work, wire, ways }, made]) =>
      ways.flatMap((way) => figureOf({ work: work.name, wire, way: way.name }, made) ?? []),
    ),
    faults: [...measured.values()].flat().flatMap(({ faults }) => faults),
  }
  process.stdout.write(printed(results))
  for (const path of await writeTelemetry(results, save)) say(`wrote ${path}`)
  return results.faults.length > 0 ? 1 : 0
}

function groupsOf(options: Options): Group[] {
  const wanted = ways.filter(({ name }) => name === base || options.ways.includes(name))
  return works
    .filter(({ name }) => options.works.includes(name))
    .flatMap((work) =>
      options.wires.map((wire) => ({
        work,
        wire,
        ways: wanted.filter(({ wires, only = work.name }) => wires.includes(wire) && only === work.name),
      })),
    )
    .filter((group) => group.ways.length > 1)
}

function packages(): Record<string, string> {
  const names = ['@opentelemetry/api', '@opentelemetry/sdk-node']
  return Object.fromEntries(names.map((name) => [name, versionOf(name) ?? 'absent']))
}

await runCommand({ help, readOptions, act: measureTelemetry })
