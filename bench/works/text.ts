import { many, manyOf } from './many.ts'
import type { Work } from './work.ts'
import { grouped, oneCase, sizeOf } from './work.ts'

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
