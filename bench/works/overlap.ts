import { measure, median } from '../process/measure.ts'
import { subject } from '../process/subject.ts'
import type { Work } from './work.ts'
import { grouped, oneCase, sizeOf } from './work.ts'

/** A slow tool is called early in a long answer. Who starts it at once has its result when the answer ends. */
export const overlap: Work = {
  name: 'overlap',
  title: 'A slow tool, called early in a turn',
  needs: 'loop',
  figures: [
    { key: 'added', label: 'added by the tool', unit: 'ms' },
    { key: 'wall', label: 'to the final answer', unit: 'ms' },
    { key: 'without', label: 'with a tool that takes no time', unit: 'ms' },
  ],
  columns: 'figures',
  repeat: { full: 2, quick: 1, tiny: 1 },
  wires: { full: 'one', quick: 'one', tiny: 'all' },
  briefly: true,
  cases: oneCase(
    60_000,
    {
      full: { slowMs: 300, restMs: 1000, count: 1 },
      quick: { slowMs: 100, restMs: 150, count: 1 },
      tiny: { slowMs: 20, restMs: 60, count: 1 },
    },
    ({ slowMs, restMs }) => `${slowMs} ms of work, ${grouped(restMs)} ms before the turn ends`,
  ),
  async run(job) {
    const warm = await subject(job, 'overlap-1', 'loop')
    await warm.play()
    await warm.check()

    const one = await subject(job, `overlap-${sizeOf(job, 'restMs')}`, 'loop')
    async function wallWith(slowMs: number) {
      one.slowMs = slowMs
      const { wallMs } = await measure(async () => void (await one.play()))
      return wallMs
    }
    const slow: number[] = []
    const quick: number[] = []
    for (let n = 0; n < sizeOf(job, 'count'); n++) {
      quick.push(await wallWith(0))
      slow.push(await wallWith(sizeOf(job, 'slowMs')))
    }
    await one.check()
    const wall = median(slow)
    const without = median(quick)
    return { added: wall - without, wall, without }
  },
}
