import { setTimeout as wait } from 'node:timers/promises'
import type { Wire } from '../contract.ts'
import type { Part } from '../load/process.ts'
import { startPart } from '../load/process.ts'
import { mean } from '../process/measure.ts'
import type { ServerProcess } from '../runner/server-process.ts'
import { startServer } from '../runner/server-process.ts'
import type { PlayerAnswers, PlayerConfig } from './player.ts'
import type { ReceiverAnswers } from './receiver.ts'
import type { Size } from './size.ts'
import { faultsOf } from './verdict.ts'
import type { Way } from './ways.ts'
import type { LookedAt } from './works.ts'

/** Those that are measured side by side. */
export interface Group {
  readonly work: LookedAt
  readonly wire: Wire
  readonly ways: readonly Way[]
}

/** What came of one set. */
export interface Measured {
  /** CPU time of one unit, in µs, of each way. */
  readonly cpu: Readonly<Record<string, number>>
  /** CPU time to send all metrics, in ms. */
  readonly flush: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

export interface MeasuringOptions {
  readonly size: Size
  /** Which of the sets it is: who comes first changes from one to the next. */
  readonly set: number
  readonly receiver: Part<ReceiverAnswers>
  /** Where the receiver is. */
  readonly url: string
  /** Where to leave profiles. */
  readonly profile: string | undefined
  readonly signal: AbortSignal
}

/**
 * All processes of a set are there at once, and have their turns one after the other, again and again: what else the machine does is in
 * the figures of all of them. Nothing else of ours runs while one has its turn.
 */
export async function measureSet({ work, wire, ways }: Group, options: MeasuringOptions): Promise<Measured> {
  const { size, set, receiver, signal } = options
  const servers: ServerProcess[] = []
  const parts: Part<PlayerAnswers>[] = []
  const stop = () => Promise.all([...parts, ...servers].map((one) => one.stop()))
  const abort = () => void stop()
  signal.addEventListener('abort', abort)
  try {
    const players = []
    for (const way of rotated(ways, set)) {
      signal.throwIfAborted()
      const name = [set, work.name, wire, way.name].join('-')
      const server = await startServer()
      servers.push(server)
      const to = { url: server.url, receiver: `${options.url}/${name}` }
      const config: PlayerConfig = { work: work.name, wire, way: way.name, size, ...to }
      const part = startPart<PlayerAnswers>(
        '../telemetry/player.ts',
        config,
        profiling(name, options.profile),
      )
      parts.push(part)
      await part.ask('open')
      players.push({ way, name, part, turns: [] as number[] })
    }
    for (let turn = 0; turn < size.turns; turn++)
      for (const { part, turns } of rotated(players, turn)) turns.push(await part.ask('turn'))

    const cpu: Record<string, number> = {}
    const flush: Record<string, number> = {}
    const faults: string[] = []
    for (const { way, name, part, turns } of players) {
      const played = await part.ask('played')
      cpu[way.name] = mean(turns)
      if (way.sends !== 'nothing') flush[way.name] = played.flushMs
      const found = await lasting(async () =>
        faultsOf(work, way, played, await receiver.ask('received', name)),
      )
      faults.push(...found.map((fault) => `${name}: ${fault}`))
    }
    return { cpu, flush, faults }
  } catch (error) {
    // What broke because everything was ended is not the reason.
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', abort)
    await stop()
  }
}

/** Those that are still there after a while: an SDK does not wait for what was on its way when it was told to send the rest. */
async function lasting(look: () => Promise<string[]>): Promise<string[]> {
  let faults = await look()
  for (let tries = 0; faults.length > 0 && tries < 40; tries++) {
    await wait(50)
    faults = await look()
  }
  return faults
}

const profiling = (name: string, folder: string | undefined) =>
  folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`]

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
