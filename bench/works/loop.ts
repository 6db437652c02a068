import { figuresOfMany, many } from './many.ts'
import type { Work } from './work.ts'
import { oneCase } from './work.ts'

/** What an agent does most of the time: a few words, some tools, an answer. */
export const loop: Work = {
  name: 'loop',
  title: 'A loop with tools',
  needs: 'loop',
  figures: figuresOfMany('loop'),
  columns: 'wires',
  repeat: { full: 3, quick: 1, tiny: 1 },
  wires: { full: 'all', quick: 'one', tiny: 'all' },
  briefly: false,
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
