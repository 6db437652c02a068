import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mean } from '../harness/measure.ts'
import type { RunContext } from '../harness/part.ts'
import { withChildren } from '../harness/process.ts'
import { versionOf, versionsOf } from '../harness/report.ts'
import { cache } from '../harness/write.ts'
import type { ServerAnswers as ProviderAnswers } from '../server/main.ts'
import type { Measured, Measurement, Options } from './part.ts'
import type { ReaderAnswers } from './reader.ts'
import type { ServerAnswers, ServerConfig } from './server.ts'
import { type Route, routes, type Size, type Way, type Workload, ways, workloads } from './ways.ts'

const setMs = 1_200_000

const paths = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }

export async function measureGateway({ size, options, signal, onStep }: RunContext<Size, Options>) {
  const { repeat: count = size.sets, profile } = options
  const isInstalled = ({ needs }: Way) => needs === undefined || versionOf(needs) !== undefined
  const chosen = ways.filter(({ name }) => options.way.includes(name))
  const installed = chosen.filter(isInstalled)
  const measured: Measurement[] = []
  for (const work of workloads.filter(({ name }) => options.work.includes(name)))
    for (const route of routes.filter(({ name }) => options.route.includes(name))) {
      const able = installed.filter((way) => way.routes.includes(route.name))
      const sets: Measured[] = []
      for (let set = 0; set < count && able.length > 0; set++) {
        onStep(`${work.name} ${route.name} ${set + 1}/${count}`)
        sets.push(await measureSet({ work, route, ways: able, size, set, profile, signal }))
      }
      measured.push({ work: work.name, route: route.name, sets })
    }
  return {
    measured,
    leftOut: chosen.filter((way) => !isInstalled(way)).map(({ name }) => name),
    packages: versionsOf(
      '@portkey-ai/gateway',
      '@musistudio/llms',
      'ai',
      '@ai-sdk/openai',
      '@ai-sdk/anthropic',
    ),
  }
}

interface SetOptions {
  readonly work: Workload
  readonly route: Route
  readonly ways: readonly Way[]
  readonly size: Size
  /** The number of the set: which process comes first changes from one to the next. */
  readonly set: number
  readonly profile: boolean
  readonly signal: AbortSignal
}

/**
 * All gateways of a set run at once and take short turns, so that other load on the machine affects
 * the figures of all of them. Only one is active at a time.
 */
async function measureSet({ work, route, ways, size, set, profile, signal }: SetOptions): Promise<Measured> {
  const { client, provider } = route
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  try {
    return await withChildren({ signal, limitMs: setMs, what: 'a set' }, async (start) => {
      const address = await start<ProviderAnswers>('server/main.ts').ask('open')
      const reader = start<ReaderAnswers>('gateway/reader.ts')
      const baseURL = `${address}/${work.scenario(size)}/v1`
      await fetch(`${baseURL}/${paths[provider]}`)
      const servers = []
      for (const { name: way } of rotated(ways, set)) {
        const file = `gateway-${set}-${work.name}-${route.name}-${way}.cpuprofile`
        const execArgv = profile ? ['--cpu-prof', `--cpu-prof-dir=${cache}`, `--cpu-prof-name=${file}`] : []
        const config: ServerConfig = { way, client, provider, baseURL, folder }
        const child = start<ServerAnswers>('gateway/server.ts', config, { execArgv, quiet: true })
        const opened = await child.ask('open').catch((error: Error) => {
          throw new Error(`${way} did not start: ${error.message}`)
        })
        const asked = { opened, client, work: work.name, size }
        await reader.ask('warm', asked)
        servers.push({ way, child, asked, turns: [] as number[] })
      }
      const { atOnce, deltas } = work.answers(size)
      for (let turn = 0; turn < size.turns; turn++)
        for (const { child, asked, turns } of rotated(servers, turn)) {
          const before = await child.ask('usage')
          const plays = await reader.ask('play', asked)
          const { cpuMs } = await child.ask('usage')
          turns.push(((cpuMs - before.cpuMs) * 1000) / (plays * atOnce * deltas))
        }
      return Object.fromEntries(servers.map(({ way, turns }) => [way, mean(turns)]))
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
