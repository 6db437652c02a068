import type { Session } from '../contract.ts'
import { during, measure, median, peakMemory } from '../harness/measure.ts'
import { grouped } from '../harness/report.ts'
import { firstTextMs } from './received.ts'
import { subject } from './subject.ts'
import { type Figures, type Job, oneCase, sizeOf, type Workload } from './workload.ts'

/** What workloads that repeat one thing have in common. */
export function repeatedWorkload(what: string): Pick<Workload, 'figures' | 'columns' | 'repeat' | 'briefly'> {
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

/** Repeats one thing, sequentially and warm. `parts` is how many units one repetition has. */
export async function repeat(job: Job, scenario: string, how: keyof Session, parts = 1): Promise<Figures> {
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
export const text: Workload = {
  ...repeatedWorkload('delta'),
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
    return repeat(job, `text-${deltas}`, 'answer', deltas)
  },
}

/** With short answers, the fixed cost of a request dominates. */
export const short: Workload = {
  ...repeatedWorkload('request'),
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
  run: (job) => repeat(job, 'text-20', 'answer'),
}

/** What an agent does most of the time: a few words, some tools, an answer. */
export const loop: Workload = {
  ...repeatedWorkload('loop'),
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
  run: (job) => repeat(job, 'loop-20', 'loop'),
}
