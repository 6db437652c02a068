import type { Session } from '../contract.ts'
import { during, measure, median, peakMemory } from '../process/measure.ts'
import { subject } from '../process/subject.ts'
import { firstTextMs } from '../process/told.ts'
import type { Figure, Figures, Job } from './work.ts'
import { sizeOf } from './work.ts'

export const figuresOfMany = (what: string): Figure[] => [
  { key: 'cpu', label: `CPU per ${what}`, unit: 'µs', ratio: true },
  { key: 'wall', label: `wall per ${what}`, unit: 'µs' },
  { key: 'first', label: 'first text', unit: 'ms' },
  { key: 'peak', label: 'peak memory', unit: 'MB' },
]

/** The same thing again and again, one after the other, when everything is warm. */
export async function many(job: Job, scenario: string, how: keyof Session): Promise<Figures> {
  const one = await subject(job, scenario, how)
  await during(sizeOf(job, 'warmMs'), async () => void (await one.play()))
  await one.check()

  const firsts: number[] = []
  let count = 0
  const { cpuUs, wallMs } = await measure(async () => {
    count = await during(sizeOf(job, 'leastMs'), async () => void firsts.push(firstTextMs(await one.play())))
  })
  const peak = peakMemory()
  await one.check()
  return { cpu: cpuUs / count, wall: (wallMs * 1000) / count, first: median(firsts), peak }
}
