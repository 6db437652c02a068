import { setTimeout as wait } from 'node:timers/promises'
import { delaysIn } from '../../harness/measure.ts'
import { type Child, withChildren } from '../../harness/process.ts'
import { cache } from '../../harness/write.ts'
import { homeOf } from '../conversation.ts'
import { faultsOf } from '../figures.ts'
import type { FollowersAnswers } from '../followers.ts'
import { allAtRest, talkIn } from '../measure-scenario.ts'
import type { StorePlace } from '../open-store.ts'
import type { FollowerPlan } from '../part.ts'
import type { ProviderAnswers } from '../provider.ts'
import type { ServerAnswers } from '../server.ts'
import { type Api, api } from '../setup.ts'
import { withPlace } from './append.ts'
import type { AppFigures, StoreName } from './figures.ts'
import type { Context } from './part.ts'

export interface AppSize {
  readonly threads: number
  /** Followers of each thread, at different processes. */
  readonly followersEach: number
  /** Words of an answer, and the time between them. */
  readonly deltas: number
  readonly everyMs: number
  readonly seconds: number
}

export interface AppRun {
  readonly scenario: AppFigures['scenario']
  readonly store: StoreName
  readonly processes: number
}

const patienceMs = 400_000
/** Time for followers to catch up, when nothing new comes. */
const catchUpMs = 120_000

/** Several servers with one database, one provider, and followers, each in its own process. */
export function measureApp(run: AppRun, size: AppSize, context: Context): Promise<AppFigures> {
  const { store, processes, scenario } = run
  const limitMs = 2 * size.deltas * size.everyMs + size.seconds * 1000 + patienceMs
  const what = `${scenario} with ${store}`
  const onStep = (step: string) => context.onStep(`${what}, ${processes} processes: ${step}`)
  return withPlace(store, context, (place) =>
    withChildren({ signal: context.signal, limitMs, what }, async (start, signal) => {
      const { threads, deltas, everyMs, seconds } = size
      const names = Array.from({ length: threads }, (_, index) => `t${index}`)
      const provider = start<ProviderAnswers>('load/provider.ts', { deltas, everyMs, servers: processes })
      const address = await provider.ask('open')
      const execArgv = context.profile ? ['--cpu-prof', `--cpu-prof-dir=${cache}`] : []
      const servers = Array.from({ length: processes }, (_, index) => {
        const config = { provider: `${address}/${index}`, store: place }
        return start<ServerAnswers>('load/server.ts', config, { execArgv: ['--expose-gc', ...execArgv] })
      })
      const urls = await Promise.all(servers.map((server) => server.ask('open')))
      const followers = start<FollowersAnswers>('load/followers.ts', { urls })
      const apis = apiOf(urls, place)
      const all: Children = { provider, servers, followers }
      onStep('creating threads')
      await Promise.all(
        servers.map((server, index) =>
          server.ask(
            'create',
            names.filter((name) => homeOf(name, processes) === index),
          ),
        ),
      )
      const plans = followersOf(names, size.followersEach, run)
      onStep(`connecting ${plans.length} followers`)
      await followers.ask('connect', plans)
      onStep(`starting ${threads} runs`)
      const talk = await talkIn(names, { provider, api: apis }, deltas * everyMs)
      onStep(`measuring for ${seconds} s`)
      await followers.ask('begin')
      const before = await read(all, apis, context)
      await wait(seconds * 1000, undefined, { signal })
      const after = await read(all, apis, context)
      await followers.ask('end')
      await talk.stop()
      onStep('waiting for the last runs')
      const heads = await allAtRest(apis, signal)
      await followers.ask('catchUp', { heads, withinMs: catchUpMs })
      const tallies = await followers.ask('tallies')
      const { all: requests, home } = await provider.ask('requests')
      // A follower that connects at the end, to any process, must receive the same log.
      await followers.ask('connect', followersOf(names, 1, run, 1))
      await followers.ask('catchUp', { heads, withinMs: catchUpMs })
      const logs = await followers.ask('logs')
      const faults = faultsOf(logs, { heads, words: await provider.ask('sent') })
      await Promise.all(servers.map((server) => server.ask('close')))
      const took = after.now - before.now
      const cores = (key: 'servers' | 'provider' | 'followers') => (after[key] - before[key]) / took
      const { same, other } = tallies
      return {
        ...run,
        threads,
        followers: plans.length,
        seconds: took / 1000,
        words: (after.words - before.words) / (took / 1000),
        entries: (after.entries - before.entries) / (took / 1000),
        delivered: (same.entries + other.entries) / (took / 1000),
        delays: { same: delaysIn(same.sinceWritten), other: delaysIn(other.sinceWritten) },
        sinceSaid: { same: delaysIn(same.sinceSaid), other: delaysIn(other.sinceSaid) },
        cores: {
          servers: cores('servers'),
          provider: cores('provider'),
          followers: cores('followers'),
          postgres:
            store !== 'sqlite' && after.postgres !== undefined && before.postgres !== undefined
              ? (after.postgres - before.postgres) / took
              : undefined,
        },
        atHome: processes > 1 ? home / requests : undefined,
        faults,
      }
    }),
  )
}

interface Children {
  readonly provider: Child<ProviderAnswers>
  readonly servers: readonly Child<ServerAnswers>[]
  readonly followers: Child<FollowersAnswers>
}

/**
 * Followers at the process that runs the thread and at the ones after it. Processes with plain
 * inserts know only their own threads.
 */
function followersOf(
  names: readonly string[],
  each: number,
  { store, processes }: AppRun,
  first = 0,
): FollowerPlan[] {
  return names.flatMap((thread, index) =>
    Array.from({ length: each }, (_, place): FollowerPlan => {
      const home = homeOf(thread, processes)
      const server = store === 'floor' ? home : (home + first + place) % processes
      return {
        thread,
        transport: (index + place) % 2 === 0 ? 'sse' : 'socket',
        stuck: false,
        server,
        group: server === home ? 'same' : 'other',
      }
    }),
  )
}

/** Sends each message to the home of its thread. */
function apiOf(urls: readonly string[], { kind }: StorePlace): Api {
  const apis = urls.map(api)
  const at = (index: number) => apis[index] as Api
  const home = (thread: string) => at(homeOf(thread, urls.length))
  return {
    create: (thread) => home(thread).create(thread),
    send: (thread, message) => home(thread).send(thread, message),
    list: async () =>
      (await Promise.all((kind === 'floor' ? apis : [at(0)]).map((one) => one.list()))).flat(),
  }
}

async function read({ provider, servers, followers }: Children, apis: Api, { server }: Context) {
  const [words, threads, providerUsage, followersUsage, ...serverUsages] = await Promise.all([
    provider.ask('total'),
    apis.list(),
    provider.ask('usage'),
    followers.ask('usage'),
    ...servers.map((one) => one.ask('usage')),
  ])
  return {
    now: performance.now(),
    words,
    entries: threads.reduce((sum, { head }) => sum + head, 0),
    servers: serverUsages.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    provider: providerUsage.cpuMs,
    followers: followersUsage.cpuMs,
    postgres: server.cpuMs(),
  }
}
