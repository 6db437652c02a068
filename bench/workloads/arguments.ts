import type { Session } from '../contract.ts'
import { measure, peakMemory, times } from '../harness/measure.ts'
import type { Mode } from '../harness/part.ts'
import { subject } from './subject.ts'
import { type Case, type Figures, type Job, sizeOf, type Workload } from './workload.ts'

const figures: Workload['figures'] = [
  { key: 'cpu', label: 'CPU', unit: 'ms', ratio: true },
  { key: 'wall', label: 'wall', unit: 'ms' },
  { key: 'peak', label: 'peak memory', unit: 'MB' },
]

/** Small ones run several times, or there would be too little to measure. */
const sizes = {
  '10 KB': { bytes: 10_000, count: 5 },
  '100 KB': { bytes: 100_000, count: 1 },
  '1 MB': { bytes: 1_000_000, count: 1 },
}

function cases(mode: Mode): Case[] {
  if (mode === 'tiny') return [{ name: '1 KB', size: { bytes: 1000, count: 1 }, limitMs: 30_000 }]
  // Some clients parse everything again at every delta; 1 MB would take them hours.
  const limitMs = mode === 'full' ? 30_000 : 1_500
  const all = Object.entries(sizes).map(([name, size]) => ({ name, size, limitMs }))
  if (mode === 'full') return all
  return all.slice(0, 2).map((one) => ({ ...one, size: { ...one.size, count: 1 } }))
}

async function run(job: Job, how: keyof Session): Promise<Figures> {
  const count = sizeOf(job, 'count')
  const warm = await subject(job, 'arguments-4000', how)
  await times(5, async () => void (await warm.play()))
  await warm.check()

  const one = await subject(job, `arguments-${sizeOf(job, 'bytes')}`, how)
  let partials = 0
  const { cpuUs, wallMs } = await measure(() =>
    times(count, async () => {
      const received = await one.play()
      partials += received.partials.count
    }),
  )
  const peak = peakMemory()
  await one.check()
  const seen = how === 'partials' ? { partials: partials / count } : {}
  return { cpu: cpuUs / 1000 / count, wall: wallMs / count, peak, ...seen }
}

const common = {
  columns: 'cases',
  repeat: { full: 2, quick: 1, tiny: 1 },
  wires: { full: 'one', quick: 'one', tiny: 'all' },
  briefly: true,
  cases,
} as const

/** A model writes a file into the arguments of one tool call. */
export const longArguments: Workload = {
  ...common,
  name: 'arguments',
  title: 'One tool call whose arguments arrive in 16-byte deltas',
  needs: 'loop',
  figures,
  run: (job) => run(job, 'loop'),
}

/** The same, reading the partial file as it is written. */
export const partials: Workload = {
  ...common,
  name: 'partials',
  title: 'The same, with partial values read as they arrive',
  needs: 'partials',
  figures: [...figures, { key: 'partials', label: 'partial values', unit: '' }],
  run: (job) => run(job, 'partials'),
}
