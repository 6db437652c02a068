import { figuresOfMany, many } from './many.ts'
import type { Work } from './work.ts'
import { oneCase } from './work.ts'

/** Where answers are short, what a request costs by itself is what counts. */
export const short: Work = {
  name: 'short',
  title: 'Short answers, one after the other',
  needs: 'answer',
  figures: figuresOfMany('request'),
  columns: 'wires',
  repeat: { full: 3, quick: 1, tiny: 1 },
  wires: { full: 'all', quick: 'one', tiny: 'all' },
  briefly: false,
  cases: oneCase(
    60_000,
    {
      full: { warmUp: 400, count: 400 },
      quick: { warmUp: 30, count: 40 },
      tiny: { warmUp: 1, count: 2 },
    },
    () => '20 text deltas each',
  ),
  run: (job) => many(job, 'text-20', 'answer'),
}
