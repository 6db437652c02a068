import { clientWith } from '../clients/millrace.ts'
import type { Wire } from '../contract.ts'
import { answer, configOf } from '../harness/answer.ts'
import { during, measure, times } from '../harness/measure.ts'
import { type Subject, subject } from '../workloads/subject.ts'
import { type Observer, openObserver } from './observers.ts'
import { type Size, type WayName, type WorkName, workloadOf } from './ways.ts'

// Repeats one workload with one kind of telemetry, in its own process.

export interface PlayerConfig {
  readonly work: WorkName
  readonly wire: Wire
  readonly way: WayName
  readonly size: Size
  /** The provider, and where telemetry goes. */
  readonly url: string
  readonly receiver: string
}

export interface Played {
  readonly plays: number
  readonly lines: number | undefined
  /** CPU time to send the metrics. */
  readonly flushMs: number
}

const { work, wire, way, size, url, receiver } = configOf<PlayerConfig>()
const { scenario, how, units } = workloadOf(work)
const { warmMs, plays } = size[work]

/** Prices for both models, and limits of every kind that are never reached. */
const price = { input: 3, output: 15, cacheRead: 0.3 }
const limits = { usd: 1e6, tokens: 1e12, rounds: 1e6, toolCalls: 1e6, ms: 1e9 }
const costly = {
  prices: { 'gpt-4.1-mini': price, 'claude-sonnet-4-5': price },
  budget: { ...limits, thread: limits },
}

let observer: Observer
let one: Subject
let played = 0

async function play(): Promise<void> {
  played++
  await one.play()
}

const asked = {
  /** Runs until everything is warm. */
  async open() {
    observer = await openObserver(way, receiver)
    const client = clientWith(way === 'cost' ? costly : { telemetry: observer.telemetry })
    one = await subject({ work, wire, url, client: way }, scenario(size), how, client)
    await during(warmMs, play)
    await observer.flush()
    await one.check()
  },
  /** CPU time of one unit, in µs, including the export of its spans. */
  async turn(): Promise<number> {
    const { cpuUs } = await measure(async () => {
      await times(plays, play)
      await observer.sendSpans()
    })
    await one.check()
    return cpuUs / (plays * units(size))
  },
  async played(): Promise<Played> {
    const { cpuUs } = await measure(observer.flush)
    return { plays: played, lines: observer.lines?.(), flushMs: cpuUs / 1000 }
  },
}
export type PlayerAnswers = typeof asked
answer(asked)
