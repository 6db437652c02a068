import { setTimeout as wait } from 'node:timers/promises'
import type { Wire } from '../contract.ts'
import { mean } from '../harness/measure.ts'
import type { RunContext } from '../harness/part.ts'
import { type Child, withChildren } from '../harness/process.ts'
import { versionsOf } from '../harness/report.ts'
import { cache } from '../harness/write.ts'
import type { ServerAnswers } from '../server/main.ts'
import { faultsOf, figureOf } from './figures.ts'
import type { Options } from './part.ts'
import type { PlayerAnswers, PlayerConfig } from './player.ts'
import type { ReceiverAnswers } from './receiver.ts'
import { base, type Size, type Way, type Workload, ways, workloads } from './ways.ts'

/** Time limits for one set, and for all of them. */
const setMs = 1_800_000
const allMs = 24 * 3_600_000

export function measureTelemetry({ size, options, signal: given, onStep }: RunContext<Size, Options>) {
  const { profile, repeat: sets = size.sets } = options
  const measured = new Map<Group, Measured[]>(groupsOf(options).map((group) => [group, []]))
  return withChildren({ signal: given, limitMs: allMs, what: 'the telemetry' }, async (start, signal) => {
    const receiver = start<ReceiverAnswers>('telemetry/receiver.ts')
    const url = await receiver.ask('open')
    for (let set = 0; set < sets; set++)
      for (const [group, made] of measured) {
        onStep(`${set + 1}/${sets} ${group.work.name} ${group.wire}`)
        made.push(await measureSet(group, { size, set, receiver, url, profile, signal }))
      }
    return {
      sets,
      packages: versionsOf('@opentelemetry/api', '@opentelemetry/sdk-node'),
      figures: [...measured].flatMap(([{ work, wire, ways }, made]) =>
        ways.flatMap((way) => figureOf({ work: work.name, wire, way: way.name }, made) ?? []),
      ),
      faults: [...measured.values()].flat().flatMap(({ faults }) => faults),
    }
  })
}

function groupsOf(options: Options): Group[] {
  const wanted = ways.filter(({ name }) => name === base || options.way.includes(name))
  return workloads
    .filter(({ name }) => options.work.includes(name))
    .flatMap((work) =>
      options.wire.map((wire) => ({
        work,
        wire,
        ways: wanted.filter(({ wires, only = work.name }) => wires.includes(wire) && only === work.name),
      })),
    )
    .filter((group) => group.ways.length > 1)
}

/** What is measured side by side. */
interface Group {
  readonly work: Workload
  readonly wire: Wire
  readonly ways: readonly Way[]
}

/** The figures of one set. */
export interface Measured {
  /** CPU time of one unit, in µs, of each way. */
  readonly cpu: Readonly<Record<string, number>>
  /** CPU time to send all metrics, in ms. */
  readonly flush: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

interface SetOptions {
  readonly size: Size
  /** The number of the set: which process comes first changes from one to the next. */
  readonly set: number
  readonly receiver: Child<ReceiverAnswers>
  /** The URL of the receiver. */
  readonly url: string
  /** Whether to write CPU profiles. */
  readonly profile: boolean
  readonly signal: AbortSignal
}

/**
 * All processes of a set run at once and take short turns, so that other load on the machine
 * affects the figures of all of them. Only one process is active at a time.
 */
function measureSet({ work, wire, ways }: Group, options: SetOptions): Promise<Measured> {
  const { size, set, receiver, signal, profile } = options
  return withChildren({ signal, limitMs: setMs, what: 'a set' }, async (start) => {
    const players = []
    for (const way of rotated(ways, set)) {
      const name = [set, work.name, wire, way.name].join('-')
      const url = await start<ServerAnswers>('server/main.ts').ask('open')
      const config: PlayerConfig = {
        work: work.name,
        wire,
        way: way.name,
        size,
        url,
        receiver: `${options.url}/${name}`,
      }
      const execArgv = profile
        ? ['--cpu-prof', `--cpu-prof-dir=${cache}`, `--cpu-prof-name=${name}.cpuprofile`]
        : []
      const child = start<PlayerAnswers>('telemetry/player.ts', config, { execArgv })
      await child.ask('open')
      players.push({ way, name, child, turns: [] as number[] })
    }
    for (let turn = 0; turn < size.turns; turn++)
      for (const { child, turns } of rotated(players, turn)) turns.push(await child.ask('turn'))

    const cpu: Record<string, number> = {}
    const flush: Record<string, number> = {}
    const faults: string[] = []
    for (const { way, name, child, turns } of players) {
      const played = await child.ask('played')
      cpu[way.name] = mean(turns)
      if (way.sends !== 'nothing') flush[way.name] = played.flushMs
      const found = await lasting(async () =>
        faultsOf(work, way, played, await receiver.ask('received', name)),
      )
      faults.push(...found.map((fault) => `${name}: ${fault}`))
    }
    return { cpu, flush, faults }
  })
}

/**
 * The faults that remain after a while: an SDK's flush does not wait for exports that are already
 * in flight.
 */
async function lasting(find: () => Promise<string[]>): Promise<string[]> {
  let faults = await find()
  for (let tries = 0; faults.length > 0 && tries < 40; tries++) {
    await wait(50)
    faults = await find()
  }
  return faults
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
