import { mean } from '../harness/measure.ts'
import type { RunContext } from '../harness/part.ts'
import { withChildren } from '../harness/process.ts'
import { versionsOf } from '../harness/report.ts'
import { cache } from '../harness/write.ts'
import type { ServerAnswers as ProviderAnswers } from '../server/main.ts'
import type { Options } from './part.ts'
import type { ReaderAnswers } from './reader.ts'
import type { ServerAnswers, ServerConfig } from './server.ts'
import { type Size, type Way, type WayName, type Workload, ways, workloads } from './ways.ts'

/** CPU time per delta in µs, of each way. */
export type Measured = Partial<Record<WayName, number>>

export interface Measurement {
  readonly work: Workload['name']
  readonly sets: readonly Measured[]
}

const setMs = 1_200_000

export async function measureUiStream({ size, options, signal, onStep }: RunContext<Size, Options>) {
  const { repeat: count = size.sets, profile } = options
  const chosen = ways.filter(({ name }) => options.way.includes(name))
  const measured: Measurement[] = []
  for (const work of workloads.filter(({ name }) => options.work.includes(name))) {
    const sets: Measured[] = []
    for (let set = 0; set < count; set++) {
      onStep(`${work.name} ${set + 1}/${count}`)
      sets.push(await measureSet(work, chosen, { size, set, profile, signal }))
    }
    measured.push({ work: work.name, sets })
  }
  return { measured, packages: versionsOf('ai', '@ai-sdk/openai', '@hono/node-server') }
}

interface SetOptions {
  readonly size: Size
  /** The number of the set: which process comes first changes from one to the next. */
  readonly set: number
  readonly profile: boolean
  readonly signal: AbortSignal
}

/**
 * All servers of a set run at once and take short turns, so that other load on the machine affects
 * the figures of all of them. Only one is active at a time.
 */
function measureSet(work: Workload, ways: readonly Way[], options: SetOptions): Promise<Measured> {
  const { size, set, profile, signal } = options
  return withChildren({ signal, limitMs: setMs, what: 'a set' }, async (start) => {
    const provider = await start<ProviderAnswers>('server/main.ts').ask('open')
    const reader = start<ReaderAnswers>('ui-stream/reader.ts')
    const baseURL = `${provider}/${work.scenario(size)}/v1`
    await fetch(`${baseURL}/chat/completions`)
    const servers = []
    for (const { name: way } of rotated(ways, set)) {
      const file = `ui-stream-${set}-${work.name}-${way}.cpuprofile`
      const execArgv = profile ? ['--cpu-prof', `--cpu-prof-dir=${cache}`, `--cpu-prof-name=${file}`] : []
      const config: ServerConfig = { way, baseURL }
      const child = start<ServerAnswers>('ui-stream/server.ts', config, { execArgv })
      const url = await child.ask('open')
      await reader.ask('warm', { url, work: work.name, size })
      servers.push({ way, child, url, turns: [] as number[] })
    }
    const { count, deltas } = work.answers(size)
    for (let turn = 0; turn < size.turns; turn++)
      for (const { child, url, turns } of rotated(servers, turn)) {
        const before = await child.ask('usage')
        await reader.ask('play', { url, work: work.name, size })
        const { cpuMs } = await child.ask('usage')
        turns.push(((cpuMs - before.cpuMs) * 1000) / (count * deltas))
      }
    return Object.fromEntries(servers.map(({ way, turns }) => [way, mean(turns)]))
  })
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
