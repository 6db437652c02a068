import { setTimeout as wait } from 'node:timers/promises'
import { delaysIn } from '../harness/measure.ts'
import type { Bench, Scenario } from './scenario.ts'
import { ways } from './ways.ts'

/** How long the followers may take to read the last words. */
const arriveMs = 20_000

export const runIds = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `r${from + at}`)

/** All that is counted, at one moment. */
export async function read({ provider, server, followers }: Bench) {
  const [words, ofServer, ofProvider, ofFollowers] = await Promise.all([
    provider.ask('total'),
    server.ask('usage'),
    provider.ask('usage'),
    followers.ask('usage'),
  ])
  const cpuMs = { server: ofServer.cpuMs, provider: ofProvider.cpuMs, followers: ofFollowers.cpuMs }
  return { words, cpuMs, now: performance.now() }
}

/** Starts runs, or follows them once more. Throws if a connection takes too long. */
export async function connect(
  { followers }: Bench,
  how: 'start' | 'follow',
  { ids, spreadMs }: { readonly ids: readonly string[]; readonly spreadMs: number },
): Promise<void> {
  const isConnected = await followers.ask(how, { ids, spreadMs, withinMs: arriveMs })
  if (!isConnected) throw new Error('not all followers could connect')
}

/** Ends all runs. Throws unless every follower got each word once, in order, and the end. */
export async function checkAll({ provider, followers }: Bench): Promise<void> {
  await provider.ask('leave', 0)
  const said = await provider.ask('said')
  const faults = await followers.ask('finish', { said, withinMs: arriveMs })
  if (Object.keys(said).length === 0) throw new Error('no run ended')
  if (faults.length > 0) throw new Error(`${faults.length} faults: ${faults.slice(0, 3).join('; ')}`)
}

/** A number of runs that a server has no trouble with. */
export const steady: Scenario = {
  name: 'steady',
  title: ({ runs, everyMs }) => `${runs} runs at once, a delta every ${everyMs} ms, one follower each`,
  figures: [
    { key: 'cpu', label: 'CPU per delta', unit: 'µs', ratio: true },
    { key: 'p50', label: 'delay p50', unit: 'ms' },
    { key: 'p99', label: 'delay p99', unit: 'ms' },
    { key: 'late', label: 'timers late, p99', unit: 'ms' },
    { key: 'provider', label: "provider's CPU", unit: 'µs' },
    { key: 'followers', label: "followers' CPU", unit: 'µs' },
  ],
  ways: ways.map(({ name }) => name),
  base: 'hub',
  async measure(bench, { runs, spreadMs, settleMs, measureMs }) {
    const { server, followers, signal } = bench
    await connect(bench, 'start', { ids: runIds(0, runs), spreadMs })
    await wait(settleMs, undefined, { signal })
    await server.ask('late')
    await followers.ask('begin')
    const before = await read(bench)
    await wait(measureMs, undefined, { signal })
    const after = await read(bench)
    const delays = delaysIn(await followers.ask('end'))
    const { p99: late } = await server.ask('late')
    await checkAll(bench)
    const words = after.words - before.words
    const each = (at: keyof typeof after.cpuMs) => ((after.cpuMs[at] - before.cpuMs[at]) * 1000) / words
    return {
      cpu: each('server'),
      p50: delays?.p50 ?? Number.NaN,
      p99: delays?.p99 ?? Number.NaN,
      late,
      provider: each('provider'),
      followers: each('followers'),
    }
  },
}
