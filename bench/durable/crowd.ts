import { setTimeout as wait } from 'node:timers/promises'
import { delaysIn } from '../harness/measure.ts'
import type { Scenario } from './scenario.ts'
import { checkAll, connect, read } from './steady.ts'

/** One run with many followers: what each of them costs. */
export const crowd: Scenario = {
  name: 'crowd',
  title: ({ crowd, everyMs }) =>
    `${crowd.toLocaleString('en')} followers of one run, a delta every ${everyMs} ms`,
  figures: [
    { key: 'cpu', label: 'CPU per delta and follower', unit: 'µs', ratio: true },
    { key: 'p50', label: 'delay p50', unit: 'ms' },
    { key: 'p99', label: 'delay p99', unit: 'ms' },
    { key: 'followers', label: "followers' CPU", unit: 'µs' },
  ],
  ways: ['hub', 'hub-worker', 'millrace', 'millrace-socket'],
  base: 'hub',
  async measure(bench, { crowd: count, spreadMs, settleMs, measureMs }) {
    const { followers, signal } = bench
    await connect(bench, 'start', { ids: ['r0'], spreadMs: 0 })
    await connect(bench, 'follow', { ids: Array.from({ length: count - 1 }, () => 'r0'), spreadMs })
    await wait(settleMs, undefined, { signal })
    await followers.ask('begin')
    const before = await read(bench)
    await wait(measureMs, undefined, { signal })
    const after = await read(bench)
    const delays = delaysIn(await followers.ask('end'))
    await checkAll(bench)
    const each = (at: 'server' | 'followers') =>
      ((after.cpuMs[at] - before.cpuMs[at]) * 1000) / (after.words - before.words) / count
    return {
      cpu: each('server'),
      p50: delays?.p50 ?? Number.NaN,
      p99: delays?.p99 ?? Number.NaN,
      followers: each('followers'),
    }
  },
}
