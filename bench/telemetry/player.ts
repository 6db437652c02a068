import { clientWith } from '../clients/millrace.ts'
import type { Wire } from '../contract.ts'
import { answer, configOf } from '../harness/answer.ts'
import { during, measure, times } from '../harness/measure.ts'
import { type Subject, subject } from '../works/subject.ts'
import { type Looking, look } from './looking.ts'
import { lookedAt, type Size, type WayName, type WorkName } from './ways.ts'

// Does one work, again and again, while somebody looks on in one way: a process of its own.

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
  /** CPU time to send what has been kept back till now: the metrics. */
  readonly flushMs: number
}

const { work, wire, way, size, url, receiver } = configOf<PlayerConfig>()
const { scenario, how, units } = lookedAt(work)
const { warmMs, plays } = size[work]

let looking: Looking
let one: Subject
let played = 0

async function play(): Promise<void> {
  played++
  await one.play()
}

const asked = {
  /** Until everything is warm. */
  async open() {
    looking = await look(way, receiver)
    const client = clientWith({ telemetry: looking.telemetry })
    one = await subject({ work, wire, url, client: way }, scenario(size), how, client)
    await during(warmMs, play)
    await looking.flush()
    await one.check()
  },
  /** CPU time of one unit, in µs. Its spans go out before it is over, sooner than they would have to. */
  async turn(): Promise<number> {
    const { cpuUs } = await measure(async () => {
      await times(plays, play)
      await looking.sendSpans()
    })
    await one.check()
    return cpuUs / (plays * units(size))
  },
  async played(): Promise<Played> {
    const { cpuUs } = await measure(looking.flush)
    return { plays: played, lines: looking.lines?.(), flushMs: cpuUs / 1000 }
  },
}
export type PlayerAnswers = typeof asked
answer(asked)
