import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunContext } from '../harness/part.ts'
import { type Start, withChildren } from '../harness/process.ts'
import { versionsOf } from '../harness/report.ts'
import { cache } from '../harness/write.ts'
import { withFolder } from '../load/setup.ts'
import type { Figures } from '../workloads/workload.ts'
import type { FollowersAnswers } from './followers.ts'
import type { Measurement, Options } from './part.ts'
import type { ProviderAnswers } from './provider.ts'
import { withRedis } from './redis.ts'
import type { Bench, Scenario, Size } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import type { ServerAnswers, ServerConfig } from './server.ts'
import { missing, type Way, wayOf } from './ways.ts'

/** A measurement that takes longer counts as a hang. */
const limitMs = 300_000

/** Sets take turns, each in its own order: other load on the machine affects all ways. */
export async function measureServers({ size, options, signal, onStep }: RunContext<Size, Options>) {
  const { repeat, profile } = options
  const chosen = options.way.map(wayOf)
  const ways = chosen.filter((way) => missing(way) === undefined)
  const measured: Measurement[] = []
  const skipped: string[] = []
  for (const scenario of scenarios.filter(({ name }) => options.scenario.includes(name))) {
    const able = ways.filter(({ name, from }) => from !== undefined || scenario.ways.includes(name))
    const sets = repeat ?? scenario.sets?.(size) ?? size.sets
    const results: Record<string, Figures>[] = []
    const faults: string[] = []
    const env = envOf(scenario)
    if (typeof env === 'string') skipped.push(`${scenario.name}: left out, ${env}`)
    for (let set = 0; set < sets && typeof env !== 'string'; set++) {
      const figures: Record<string, Figures> = {}
      for (const way of shuffled(able)) {
        onStep(`${scenario.name} ${set + 1}/${sets} ${way.name}`)
        try {
          figures[way.name] = await measureWay(way, scenario, { size, set, profile, env, signal })
        } catch (error) {
          signal.throwIfAborted()
          faults.push(`${way.name}: ${error instanceof Error ? error.message : error}`)
        }
      }
      results.push(figures)
    }
    measured.push({ scenario: scenario.name, sets: results, faults })
  }
  return {
    measured,
    ways: chosen.map(({ name, title, ours }) => ({ name, title, ours })),
    leftOut: [
      ...skipped,
      ...chosen.flatMap((way) => {
        const reason = missing(way)
        return reason === undefined ? [] : [`${way.title}: left out, ${reason}`]
      }),
    ],
    packages: versionsOf('hono', '@hono/node-server', 'ai', '@ai-sdk/openai', 'resumable-stream', 'redis'),
  }
}

/** Its environment for the server, or why this machine cannot do it. */
function envOf({ env }: Scenario): NodeJS.ProcessEnv | string {
  try {
    return env?.() ?? {}
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

interface MeasureOptions {
  readonly size: Size
  readonly set: number
  readonly profile: boolean
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

function measureWay(way: Way, scenario: Scenario, options: MeasureOptions): Promise<Figures> {
  const { size, set, profile, env, signal: given } = options
  return withFolder(async (folder) => {
    const profiles = join(cache, `server-${scenario.name}-${way.name}-${set}`)
    if (profile) await mkdir(profiles, { recursive: true })
    const execArgv = ['--expose-gc', ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : [])]
    const measure = (redis?: string) =>
      withChildren(
        { signal: given, limitMs, what: `${scenario.name} with ${way.name}` },
        async (start, signal) => {
          const bench = await startBench(start, { way, folder, everyMs: size.everyMs, execArgv, env, redis })
          return scenario.measure({ ...bench, signal }, size)
        },
      )
    return way.needsRedis ? withRedis(measure) : measure()
  })
}

interface BenchInput {
  readonly way: Way
  readonly folder: string
  readonly everyMs: number
  readonly execArgv: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly redis: string | undefined
}

async function startBench(
  start: Start,
  { way, folder, everyMs, execArgv, env, redis }: BenchInput,
): Promise<Omit<Bench, 'signal'>> {
  const { file, from, door } = way
  const provider = start<ProviderAnswers>('durable/provider.ts', { everyMs })
  const config: ServerConfig = {
    file,
    folder,
    provider: await provider.ask('open'),
    ...(from !== undefined && { from }),
    ...(redis !== undefined && { redis }),
  }
  const server = start<ServerAnswers>('durable/server.ts', config, { execArgv, env })
  const url = await server.ask('open')
  return { provider, server, followers: start<FollowersAnswers>('durable/followers.ts', { url, door }) }
}

const shuffled = <Item>(items: readonly Item[]) =>
  items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
