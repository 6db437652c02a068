import { during, measure, median, peakMemory } from '../process/measure.ts'
import { subject } from '../process/subject.ts'
import { firstTextMs } from '../process/told.ts'
import type { Work } from './work.ts'
import { grouped, oneCase, sizeOf } from './work.ts'

/** One long answer. */
export const text: Work = {
  name: 'text',
  title: 'One long answer',
  needs: 'answer',
  figures: [
    { key: 'cpu', label: 'CPU per delta', unit: 'µs', ratio: true },
    { key: 'wall', label: 'wall per delta', unit: 'µs' },
    { key: 'first', label: 'first text', unit: 'ms' },
    { key: 'peak', label: 'peak memory', unit: 'MB' },
  ],
  columns: 'wires',
  repeat: { full: 3, quick: 1, tiny: 1 },
  wires: { full: 'all', quick: 'all', tiny: 'all' },
  briefly: false,
  cases: oneCase(
    60_000,
    {
      full: { deltas: 20_000, warmMs: 1500, leastMs: 1000 },
      quick: { deltas: 3_000, warmMs: 100, leastMs: 100 },
      tiny: { deltas: 50, warmMs: 0, leastMs: 0 },
    },
    ({ deltas }) => `${grouped(deltas)} text deltas`,
  ),
  async run(job) {
    const deltas = sizeOf(job, 'deltas')
    const one = await subject(job, `text-${deltas}`)
    await during(sizeOf(job, 'warmMs'), async () => void (await one.play()))
    await one.check()

    const firsts: number[] = []
    let count = 0
    const { cpuUs, wallMs } = await measure(async () => {
      count = await during(
        sizeOf(job, 'leastMs'),
        async () => void firsts.push(firstTextMs(await one.play())),
      )
    })
    const peak = peakMemory()
    await one.check()
    const all = count * deltas
    return { cpu: cpuUs / all, wall: (wallMs * 1000) / all, first: median(firsts), peak }
  },
}
