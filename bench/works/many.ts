import type { Session } from '../contract.ts'
import { during, measure, median, peakMemory } from '../process/measure.ts'
import { subject } from '../process/subject.ts'
import { firstTextMs } from '../process/told.ts'
import type { Figures, Job, Work } from './work.ts'
import { sizeOf } from './work.ts'

/** What works have in common that do the same thing again and again. */
export function manyOf(what: string): Pick<Work, 'figures' | 'columns' | 'repeat' | 'briefly'> {
  return {
    figures: [
      { key: 'cpu', label: `CPU per ${what}`, unit: 'µs', ratio: true },
      { key: 'wall', label: `wall per ${what}`, unit: 'µs' },
      { key: 'first', label: 'first text', unit: 'ms' },
      { key: 'peak', label: 'peak memory', unit: 'MB' },
    ],
    columns: 'wires',
    repeat: { full: 3, quick: 1, tiny: 1 },
    briefly: false,
  }
}

/** The same thing again and again, one after the other, when everything is warm. `parts` is how many of what is counted it has. */
export async function many(job: Job, scenario: string, how: keyof Session, parts = 1): Promise<Figures> {
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
  const all = count * parts
  return { cpu: cpuUs / all, wall: (wallMs * 1000) / all, first: median(firsts), peak }
}
