import { setTimeout as wait } from 'node:timers/promises'
import { delaysIn } from '../harness/measure.ts'
import type { Bench, Scenario, Size } from './scenario.ts'
import { checkAll, read, runIds } from './steady.ts'
import { ways } from './ways.ts'

const mostDelayMs = 250
/** How far it goes up in one step, and how often it halves the last step. */
const growth = 1.5
const halvings = 3
/** A server that cannot accept new followers within this time has too many. */
const startMs = 5000
/** How long an overloaded server may take to send what has piled up. */
const drainMs = 5000

/** The most runs whose words arrive within 250 ms at p99. */
export const capacity: Scenario = {
  name: 'capacity',
  title: ({ everyMs }) =>
    `Runs at once until the delay p99 exceeds ${mostDelayMs} ms, a delta every ${everyMs} ms`,
  figures: [
    { key: 'runs', label: 'runs', unit: '', ratio: true },
    { key: 'server', label: 'cores: server', unit: '' },
    { key: 'provider', label: 'provider', unit: '' },
    { key: 'followers', label: 'followers', unit: '' },
  ],
  ways: ways.map(({ name }) => name),
  base: 'hub-worker',
  sets: ({ search }) => search.sets,
  async measure(bench, size) {
    const { from, most, mostMs } = size.search
    const deadline = performance.now() + mostMs
    const isFast = levels(bench, size)
    let [good, bad] = [0, Number.POSITIVE_INFINITY]
    let cores = { server: Number.NaN, provider: Number.NaN, followers: Number.NaN }
    async function tryOut(runs: number) {
      if (performance.now() > deadline) return
      // Other load on the machine may spoil one look, but hardly two.
      const used = (await isFast(runs)) ?? (await isFast(runs))
      if (used) [good, cores] = [runs, used]
      else bad = runs
    }
    for (let runs = from; runs <= most && bad > most; runs = Math.round(runs * growth)) await tryOut(runs)
    for (let left = halvings; left > 0 && bad <= most; left--) await tryOut(Math.round((good + bad) / 2))
    await checkAll(bench)
    return { runs: good, ...cores }
  },
}

/**
 * Returns a function that changes the number of runs, and returns the cores that the processes use
 * if the words are on time.
 */
function levels(bench: Bench, { search: { settleMs, measureMs } }: Size) {
  const { provider, followers, signal } = bench
  let started = 0
  let running = 0

  async function setRuns(runs: number): Promise<boolean> {
    if (runs > running) {
      const ids = runIds(started, started + runs - running)
      started += ids.length
      running = runs
      return followers.ask('start', { ids, spreadMs: settleMs, withinMs: startMs })
    }
    await provider.ask('leave', runs)
    running = runs
    const deadline = performance.now() + drainMs
    while (performance.now() < deadline) {
      const [said, heard] = await Promise.all([provider.ask('total'), followers.ask('words')])
      if (said - heard < 10 * runs) break
      await wait(50, undefined, { signal })
    }
    return true
  }

  return async (runs: number) => {
    if (!(await setRuns(runs))) return undefined
    await wait(settleMs, undefined, { signal })
    await followers.ask('begin')
    const before = await read(bench)
    await wait(measureMs, undefined, { signal })
    const after = await read(bench)
    const delays = delaysIn(await followers.ask('end'))
    if (!delays || delays.p99 > mostDelayMs) return undefined
    const cores = (at: keyof typeof after.cpuMs) =>
      (after.cpuMs[at] - before.cpuMs[at]) / (after.now - before.now)
    return { server: cores('server'), provider: cores('provider'), followers: cores('followers') }
  }
}
