import { setTimeout as wait } from 'node:timers/promises'
import type { Scenario } from './scenario.ts'
import { checkAll, connect, read, runIds } from './steady.ts'

/** Followers of runs that have ended, as of pages that were left open. */
export const idle: Scenario = {
  name: 'idle',
  title: ({ idle: { followers, ms } }) =>
    `${followers.toLocaleString('en')} followers of runs that have ended, for ${ms / 1000} s`,
  figures: [{ key: 'share', label: 'of a core', unit: '%', ratio: true }],
  ways: ['hub', 'hub-worker', 'millrace', 'millrace-socket'],
  base: 'hub',
  sets: ({ search }) => search.sets,
  async measure(bench, { idle: { followers: count, ms }, runs, spreadMs, settleMs }) {
    await connect(bench, 'start', { ids: runIds(0, runs), spreadMs })
    // An answer without words would be asked for again.
    await wait(settleMs, undefined, { signal: bench.signal })
    await checkAll(bench)
    await connect(bench, 'follow', {
      ids: Array.from({ length: count }, (_, at) => `r${at % runs}`),
      spreadMs,
    })
    // What comes after the runs must be over too: logs are packed, state is saved.
    await wait(3 * settleMs, undefined, { signal: bench.signal })
    const before = await read(bench)
    await wait(ms, undefined, { signal: bench.signal })
    const after = await read(bench)
    return { share: ((after.cpuMs.server - before.cpuMs.server) / (after.now - before.now)) * 100 }
  },
}
