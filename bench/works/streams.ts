import { setTimeout as wait } from 'node:timers/promises'
import { peakMemory, quantile } from '../process/measure.ts'
import { subject } from '../process/subject.ts'
import type { Told } from '../process/told.ts'
import { stampLength } from '../server/scenario.ts'
import type { Case, Mode, Work } from './work.ts'
import { grouped, sizeOf } from './work.ts'

/** One delta says when it was written, and ends with a space. */
const deltaLength = stampLength + 1
const everyMs = 100

function cases(mode: Mode): Case[] {
  const of = (streams: number, deltas: number, spreadMs: number): Case => ({
    name: `${grouped(streams)} at once`,
    size: { streams, deltas, everyMs: mode === 'tiny' ? 5 : everyMs, spreadMs },
    limitMs: 60_000,
  })
  if (mode === 'tiny') return [of(5, 4, 10)]
  return mode === 'quick' ? [of(100, 5, 200)] : [of(100, 50, 2000), of(1000, 50, 2000)]
}

/** Many answers at once, each as slow as a model: how long a word takes from the server to whoever reads it. */
export const streams: Work = {
  name: 'streams',
  title: 'Concurrent answers, each of one delta per 100 ms',
  needs: 'answer',
  figures: [
    { key: 'p99', label: 'delay p99', unit: 'ms' },
    { key: 'p50', label: 'delay p50', unit: 'ms' },
    { key: 'memory', label: 'memory per stream', unit: 'KB' },
    { key: 'cpu', label: 'CPU per delta', unit: 'µs', ratio: true },
    { key: 'peak', label: 'peak memory', unit: 'MB' },
  ],
  columns: 'figures',
  repeat: { full: 2, quick: 1, tiny: 1 },
  wires: { full: 'one', quick: 'one', tiny: 'all' },
  briefly: true,
  cases,
  async run(job) {
    const count = sizeOf(job, 'streams')
    const deltas = sizeOf(job, 'deltas')
    const warm = await subject(job, 'streams-5-2')
    await Promise.all(Array.from({ length: 5 }, async () => void (await warm.play())))
    await warm.check()
    const one = await subject(job, `streams-${deltas}-${sizeOf(job, 'everyMs')}`)

    const delays: number[] = []
    globalThis.gc?.()
    const before = process.memoryUsage.rss()
    let most = before
    const sampler = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss())
    }, 50)
    const cpu = process.cpuUsage()
    const gap = sizeOf(job, 'spreadMs') / count
    const begin = performance.now()
    const told: Told[] = []
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        await wait(Math.max(0, begin + index * gap - performance.now()))
        told.push(await one.play((piece) => delaysOf(piece, delays)))
      }),
    )
    const { user, system } = process.cpuUsage(cpu)
    clearInterval(sampler)
    most = Math.max(most, process.memoryUsage.rss())
    await one.check()
    for (const { pieces } of told) checkStamps(pieces.join(''), deltas)
    return {
      p50: quantile(delays, 0.5),
      p99: quantile(delays, 0.99),
      memory: (most - before) / 1024 / count,
      cpu: (user + system) / (count * deltas),
      peak: peakMemory(),
    }
  },
}

/** A client may give several deltas in one piece. */
function delaysOf(piece: string, delays: number[]): void {
  const now = Number(process.hrtime.bigint())
  for (let at = 0; at + stampLength <= piece.length; at += deltaLength)
    delays.push((now - Number(piece.slice(at, at + stampLength))) / 1e6)
}

function checkStamps(text: string, deltas: number): void {
  const stamps = text.split(' ').slice(0, -1)
  if (stamps.length !== deltas) throw new Error(`${stamps.length} deltas came where ${deltas} were sent`)
  const right = stamps.every((stamp, at) => /^\d{18}$/.test(stamp) && stamp >= (stamps[at - 1] ?? ''))
  if (!right) throw new Error('the text is not the one that was sent')
}
