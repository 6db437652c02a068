import { many, manyOf } from './many.ts'
import type { Work } from './work.ts'
import { oneCase } from './work.ts'

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
