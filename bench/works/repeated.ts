import type { Session } from '../contract.ts'
import { during, measure, median, peakMemory } from '../harness/measure.ts'
import { grouped } from '../harness/report.ts'
import { subject } from './subject.ts'
import { firstTextMs } from './told.ts'
import { type Figures, type Job, oneCase, sizeOf, type Work } from './work.ts'

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

/** One long answer. */
export const text: Work = {
  ...manyOf('delta'),
  name: 'text',
  title: 'One long answer',
  needs: 'answer',
  wires: { full: 'all', quick: 'all', tiny: 'all' },
  cases: oneCase(
    60_000,
    {
      full: { deltas: 20_000, warmMs: 1500, leastMs: 1000 },
      quick: { deltas: 3_000, warmMs: 400, leastMs: 100 },
      tiny: { deltas: 50, warmMs: 0, leastMs: 0 },
    },
    ({ deltas }) => `${grouped(deltas)} text deltas`,
  ),
  run(job) {
    const deltas = sizeOf(job, 'deltas')
    return many(job, `text-${deltas}`, 'answer', deltas)
  },
}

/** Where answers are short, what a request costs by itself is what counts. */
export const short: Work = {
  ...manyOf('request'),
  name: 'short',
  title: 'Short answers, one after the other',
  needs: 'answer',
  wires: { full: 'all', quick: 'one', tiny: 'all' },
  cases: oneCase(
    60_000,
    {
      full: { warmMs: 1500, leastMs: 1000 },
      quick: { warmMs: 80, leastMs: 60 },
      tiny: { warmMs: 0, leastMs: 0 },
    },
    () => '20 text deltas each',
  ),
  run: (job) => many(job, 'text-20', 'answer'),
}

/** What an agent does most of the time: a few words, some tools, an answer. */
export const loop: Work = {
  ...manyOf('loop'),
  name: 'loop',
  title: 'A loop with tools',
  needs: 'loop',
  wires: { full: 'all', quick: 'one', tiny: 'all' },
  cases: oneCase(
    60_000,
    {
      full: { warmMs: 3000, leastMs: 1000 },
      quick: { warmMs: 80, leastMs: 60 },
      tiny: { warmMs: 0, leastMs: 0 },
    },
    () => 'two rounds, three parallel calls',
  ),
  run: (job) => many(job, 'loop-20', 'loop'),
}
