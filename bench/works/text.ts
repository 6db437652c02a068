import { measure, median, peakMemory } from '../process/measure.ts'
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
      full: { deltas: 20_000, warmUp: 20_000, leastMs: 0 },
      quick: { deltas: 5_000, warmUp: 3_000, leastMs: 150 },
      tiny: { deltas: 50, warmUp: 10, leastMs: 0 },
    },
    ({ deltas }) => `${grouped(deltas)} text deltas`,
  ),
  async run(job) {
    const deltas = sizeOf(job, 'deltas')
    const warm = await subject(job, `text-${sizeOf(job, 'warmUp')}`)
    await warm.play()
    await warm.check()

    const measured = await subject(job, `text-${deltas}`)
    // Where the answer is too short to tell much of a quick client, the median of several is taken.
    const cpu: number[] = []
    const wall: number[] = []
    const first: number[] = []
    do {
      const { cpuUs, wallMs } = await measure(async () => void first.push(firstTextMs(await measured.play())))
      cpu.push(cpuUs / deltas)
      wall.push((wallMs * 1000) / deltas)
    } while (wall.reduce((sum, us) => sum + us, 0) * deltas < sizeOf(job, 'leastMs') * 1000)
    const peak = peakMemory()
    await measured.check()
    return { cpu: median(cpu), wall: median(wall), first: median(first), peak }
  },
}
