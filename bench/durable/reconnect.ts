import { setTimeout as wait } from 'node:timers/promises'
import { quantile } from '../harness/measure.ts'
import type { Scenario } from './scenario.ts'
import { checkAll, connect, runIds } from './steady.ts'

/** Many followers lose their connections at the same moment, as when a proxy restarts. */
export const reconnect: Scenario = {
  name: 'reconnect',
  title: ({ reconnect: { followers, runs } }) =>
    `${followers} followers reconnect at once with Last-Event-ID, while ${runs} runs go on`,
  figures: [
    { key: 'all', label: 'until all have their next word', unit: 'ms', ratio: true },
    { key: 'half', label: 'until half of them have', unit: 'ms' },
  ],
  ways: ['hub', 'hub-worker', 'millrace', 'millrace-socket'],
  base: 'hub',
  sets: ({ search }) => search.sets,
  async measure(bench, { reconnect: { followers: count, runs, times }, spreadMs, settleMs }) {
    const { followers, signal } = bench
    await connect(bench, 'start', { ids: runIds(0, runs), spreadMs: 2 * spreadMs })
    await connect(bench, 'follow', {
      ids: Array.from({ length: count }, (_, at) => `r${at % runs}`),
      spreadMs,
    })
    const all: number[] = []
    const half: number[] = []
    for (let n = 0; n < times; n++) {
      await wait(settleMs, undefined, { signal })
      const waited = await followers.ask('reconnect', count)
      all.push(Math.max(...waited))
      half.push(quantile(waited, 0.5))
    }
    await checkAll(bench)
    return { all: quantile(all, 0.5), half: quantile(half, 0.5) }
  },
}
