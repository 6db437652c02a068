import { many, manyOf } from './many.ts'
import type { Work } from './work.ts'
import { oneCase } from './work.ts'

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
