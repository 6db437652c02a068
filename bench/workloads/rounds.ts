import { mean, measure, median, peakMemory, times } from '../harness/measure.ts'
import { grouped } from '../harness/report.ts'
import { subject } from './subject.ts'
import { oneCase, sizeOf, type Workload } from './workload.ts'

/** A long conversation: the cost of a round with few rounds before it, and with many. */
export const rounds: Workload = {
  name: 'rounds',
  title: 'A long conversation',
  needs: 'loop',
  figures: [
    { key: 'cpu', label: 'CPU per round', unit: 'µs', ratio: true },
    { key: 'early', label: 'early rounds', unit: 'µs' },
    { key: 'late', label: 'late rounds', unit: 'µs' },
    { key: 'growth', label: 'late / early', unit: '×' },
    { key: 'sentEarly', label: 'sent, early', unit: 'KB' },
    { key: 'sentLate', label: 'sent, late', unit: 'KB' },
    { key: 'perKilobyte', label: 'more CPU per KB more', unit: 'µs', ratio: true },
    { key: 'wall', label: 'wall per round', unit: 'µs' },
    { key: 'peak', label: 'peak memory', unit: 'MB' },
  ],
  columns: 'figures',
  repeat: { full: 2, quick: 1, tiny: 1 },
  wires: { full: 'one', quick: 'one', tiny: 'all' },
  briefly: true,
  cases: oneCase(
    120_000,
    {
      full: { rounds: 400, loops: 3, ends: 20 },
      quick: { rounds: 30, loops: 1, ends: 10 },
      tiny: { rounds: 4, loops: 2, ends: 1 },
    },
    ({ rounds: count, ends }) =>
      `${count} rounds with one tool call each, early and late are ${ends} at each end`,
  ),
  async run(job) {
    const count = sizeOf(job, 'rounds')
    const ends = sizeOf(job, 'ends')
    const one = await subject(job, `rounds-${count}`, 'loop')
    await one.play()
    await one.check()

    // Round n lasts from the tool call of the round before it to its own.
    const spent: number[][] = Array.from({ length: count }, () => [])
    let round = 0
    let last = process.cpuUsage()
    one.onCall = () => {
      const { user, system } = process.cpuUsage(last)
      spent[round++]?.push(user + system)
      last = process.cpuUsage()
    }
    const loops = sizeOf(job, 'loops')
    const { cpuUs, wallMs } = await measure(() =>
      times(loops, async () => {
        round = 0
        await one.play()
      }),
    )
    const peak = peakMemory()
    await one.check()
    const each = spent.map(median)
    const early = mean(each.slice(1, 1 + ends))
    const late = mean(each.slice(-ends))
    const perRound = loops * (count + 1)
    // A request holds the whole conversation: what it costs to send more is no fault of the client.
    const sent = await one.sentKilobytes()
    const sentEarly = mean(sent.slice(1, 1 + ends))
    const sentLate = mean(sent.slice(count - ends, count))
    return {
      cpu: cpuUs / perRound,
      early,
      late,
      growth: late / early,
      sentEarly,
      sentLate,
      perKilobyte: (late - early) / (sentLate - sentEarly),
      wall: (wallMs * 1000) / perRound,
      peak,
    }
  },
}

/**
 * A slow tool is called early in a long answer. A client that starts it at once has its result at
 * the end.
 */
export const overlap: Workload = {
  name: 'overlap',
  title: 'A slow tool, called early in a round',
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
    ({ slowMs, restMs }) => `${slowMs} ms of work, ${grouped(restMs)} ms before the round ends`,
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
