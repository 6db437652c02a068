import type { Session } from '../contract.ts'
import { during, measure, median, peakMemory, times } from '../harness/measure.ts'
import { grouped } from '../harness/report.ts'
import { firstTextMs } from './received.ts'
import { subject } from './subject.ts'
import { type Figures, type Job, oneCase, sizeOf, type Workload } from './workload.ts'

/**
 * What workloads that repeat one thing have in common. The ratio that counts is the larger one of
 * `fresh` and `warm`.
 */
export function repeatedWorkload(what: string): Pick<Workload, 'figures' | 'columns' | 'repeat' | 'briefly'> {
  return {
    figures: [
      { key: 'cpu', label: 'fresh or warm, the worse', unit: 'µs', ratio: true },
      { key: 'fresh', label: `CPU per ${what}`, unit: 'µs', ratio: true },
      { key: 'warm', label: `CPU per ${what}`, unit: 'µs', ratio: true },
      { key: 'wall', label: `wall per ${what}`, unit: 'µs' },
      { key: 'first', label: 'first text', unit: 'ms' },
      { key: 'peak', label: 'peak memory', unit: 'MB' },
    ],
    columns: 'wires',
    repeat: { full: 3, quick: 1, tiny: 1 },
    briefly: false,
  }
}

/**
 * Repeats one thing sequentially: the first uses of the process, then a warm-up that does not count,
 * then more. `parts` is how many units one repetition has.
 */
export async function repeat(job: Job, scenario: string, how: keyof Session, parts = 1): Promise<Figures> {
  const one = await subject(job, scenario, how)
  const uses = sizeOf(job, 'fresh')
  const { cpuUs: fresh } = await measure(() => times(uses, async () => void (await one.play())))
  await one.check()
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
  return {
    fresh: fresh / uses / parts,
    warm: cpuUs / all,
    wall: (wallMs * 1000) / all,
    first: median(firsts),
    peak,
  }
}

/** One long answer. */
function longAnswer(name: string, title: string): Workload {
  return {
    ...repeatedWorkload('delta'),
    name,
    title,
    needs: 'answer',
    wires: { full: 'all', quick: 'all', tiny: 'all' },
    cases: oneCase(
      60_000,
      {
        full: { deltas: 20_000, fresh: 1, warmMs: 1500, leastMs: 1000 },
        quick: { deltas: 3_000, fresh: 1, warmMs: 400, leastMs: 100 },
        tiny: { deltas: 50, fresh: 1, warmMs: 0, leastMs: 0 },
      },
      ({ deltas }) => `${grouped(deltas)} text deltas`,
    ),
    run(job) {
      const deltas = sizeOf(job, 'deltas')
      return repeat(job, `${name}-${deltas}`, 'answer', deltas)
    },
  }
}

export const text = longAnswer('text', 'One long answer')

/** What a reader costs that takes shortcuts where frames look alike, when they do not. */
export const varied: Workload = {
  ...longAnswer('varied', 'One long answer whose frames never look alike'),
  onlyFloors: true,
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
      full: { fresh: 200, warmMs: 1500, leastMs: 1000 },
      quick: { fresh: 50, warmMs: 80, leastMs: 60 },
      tiny: { fresh: 1, warmMs: 0, leastMs: 0 },
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
      full: { fresh: 200, warmMs: 3000, leastMs: 1000 },
      quick: { fresh: 50, warmMs: 80, leastMs: 60 },
      tiny: { fresh: 1, warmMs: 0, leastMs: 0 },
    },
    () => 'two rounds, three parallel calls',
  ),
  run: (job) => repeat(job, 'loop-20', 'loop'),
}
