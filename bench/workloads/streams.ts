import { setTimeout as wait } from 'node:timers/promises'
import { peakMemory, quantile } from '../harness/measure.ts'
import type { Mode } from '../harness/part.ts'
import { grouped } from '../harness/report.ts'
import { stampLength } from '../server/scenario.ts'
import type { Received } from './received.ts'
import { subject } from './subject.ts'
import { type Case, sizeOf, type Workload } from './workload.ts'

/** A delta is the time at which it was written and a space. */
const deltaLength = stampLength + 1

function cases(mode: Mode): Case[] {
  const of = (streams: number, everyMs: number, deltas: number, spreadMs: number): Case => ({
    name: `${grouped(streams)} at once, each a delta every ${everyMs} ms`,
    size: { streams, deltas, everyMs, spreadMs, warmUp: mode === 'full' ? 300 : 5 },
    limitMs: 60_000,
  })
  if (mode === 'tiny') return [of(5, 5, 4, 10)]
  if (mode === 'quick') return [of(100, 100, 5, 200)]
  return [of(100, 100, 40, 1500), of(1000, 100, 40, 1500), of(1000, 20, 200, 1500)]
}

/** Many answers at once, each as slow as a model: how long a word takes from server to reader. */
export const streams: Workload = {
  name: 'streams',
  title: 'Concurrent answers',
  needs: 'answer',
  figures: [
    { key: 'p99', label: 'delay p99', unit: 'ms' },
    { key: 'p50', label: 'delay p50', unit: 'ms' },
    { key: 'memory', label: 'memory per stream', unit: 'KB' },
    { key: 'cpu', label: 'CPU per delta', unit: 'µs', ratio: true },
    { key: 'peak', label: 'peak memory', unit: 'MB' },
  ],
  columns: 'figures',
  repeat: { full: 1, quick: 1, tiny: 1 },
  wires: { full: 'one', quick: 'one', tiny: 'all' },
  briefly: true,
  cases,
  async run(job) {
    const count = sizeOf(job, 'streams')
    const deltas = sizeOf(job, 'deltas')
    const every = sizeOf(job, 'everyMs')
    const spreadMs = sizeOf(job, 'spreadMs')
    const warm = await subject(job, `streams-${sizeOf(job, 'warmUp')}-2`)
    await together(20, 0, async () => void (await warm.play()))
    await warm.check()

    const one = await subject(job, `streams-${deltas}-${every}`)
    const delays: number[] = []
    const all: Received[] = []
    // Deltas during the ramp-up would measure how fast connections open.
    const from = process.hrtime.bigint() + BigInt(Math.round(spreadMs * 1.25e6))
    const cpu = process.cpuUsage()
    await together(
      count,
      spreadMs,
      async () => void all.push(await one.play((piece) => delaysOf(piece, from, delays))),
    )
    const { user, system } = process.cpuUsage(cpu)
    const peak = peakMemory()
    await one.check()
    for (const { pieces } of all.splice(0)) checkStamps(pieces.join(''), deltas)

    const memory = await memoryOf(count, spreadMs / 2, deltas * every, async () => void (await one.play()))
    await one.check()
    return {
      p50: quantile(delays, 0.5),
      p99: quantile(delays, 0.99),
      memory: memory / 1024 / count,
      cpu: (user + system) / (count * deltas),
      peak,
    }
  },
}

/** Runs `count` at once, started one after the other. */
async function together(count: number, spreadMs: number, play: () => Promise<void>): Promise<void> {
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      await wait(Math.max(0, begin + (index * spreadMs) / count - performance.now()))
      await play()
    }),
  )
}

/**
 * Memory in use while all of them are in the middle of their answers. In a separate run, since
 * garbage collection would affect the delays. Not the process size, since a process that was large
 * before does not grow.
 */
async function memoryOf(count: number, spreadMs: number, answerMs: number, play: () => Promise<void>) {
  const held = () => {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = held()
  const playing = together(count, spreadMs, play)
  await wait(spreadMs + (answerMs - spreadMs) / 2)
  const during = held()
  await playing
  return during - before
}

/** Delays of deltas written after `from`. A client may emit several deltas as one piece. */
function delaysOf(piece: string, from: bigint, delays: number[]): void {
  const now = Number(process.hrtime.bigint())
  for (let at = 0; at + stampLength <= piece.length; at += deltaLength) {
    const written = Number(piece.slice(at, at + stampLength))
    if (written >= Number(from)) delays.push((now - written) / 1e6)
  }
}

function checkStamps(text: string, deltas: number): void {
  const stamps = text.split(' ').slice(0, -1)
  if (stamps.length !== deltas) throw new Error(`${stamps.length} deltas arrived, expected ${deltas}`)
  const right = stamps.every((stamp, at) => /^\d{18}$/.test(stamp) && stamp >= (stamps[at - 1] ?? ''))
  if (!right) throw new Error('the text is not the one that was sent')
}
