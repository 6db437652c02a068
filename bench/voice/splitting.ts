import { cases } from '../../packages/voice/src/sentences/cases.test-kit.ts'
import { during, measure, median } from '../process/measure.ts'
import { livekit } from './livekit.ts'
import { pieces, prose } from './prose.ts'
import type { SplittingSize } from './size.ts'
import type { Splitter } from './splitters.ts'
import { splitters } from './splitters.ts'

/** What was measured of a splitter. */
export interface Split {
  readonly name: string
  readonly title: string
  /** CPU time for a text of so many characters; fewer than others have if it took too long. */
  readonly texts: readonly { readonly chars: number; readonly ms: number }[]
  /** How many of the judged cases are right: of texts that are whole, and that come in pieces. */
  readonly right: { readonly whole: number; readonly streamed: number }
}

export interface Splitting {
  readonly pieceChars: number
  /** How long the texts are, and how long one may take. */
  readonly chars: readonly number[]
  readonly mostMs: number
  readonly cases: number
  readonly splitters: readonly Split[]
}

/** As many characters as a token of a model has. */
const pieceChars = 4
/** To look at the clock takes longer than to take a piece. */
const piecesPerLook = 256

export async function measureSplitting(
  size: SplittingSize,
  onStep: (step: string) => void,
): Promise<Splitting> {
  const peer = await livekit()
  const split: Split[] = []
  for (const splitter of peer ? [...splitters, peer] : splitters) {
    onStep(`sentences: ${splitter.title}`)
    split.push({
      name: splitter.name,
      title: splitter.title,
      texts: await timesOf(splitter, size),
      right: await judge(splitter),
    })
  }
  const { chars, mostMs } = size
  return { pieceChars, chars, mostMs, cases: cases.length, splitters: split }
}

async function timesOf(splitter: Splitter, { chars, mostMs, runs, warmUpMs }: SplittingSize) {
  const texts: { chars: number; ms: number }[] = []
  const short = prose(chars[0] ?? 0)
  await during(warmUpMs, async () => void (await streamed(splitter, short)))
  for (const length of chars) {
    const text = prose(length)
    const times: number[] = []
    let sentences: string[] | undefined
    // What takes long is the same the next time.
    do {
      const { cpuUs } = await measure(async () => {
        sentences = await streamed(splitter, text, mostMs)
      })
      times.push(cpuUs / 1000)
    } while (sentences && times.length < runs && (times[0] ?? 0) < mostMs / 10)
    if (!sentences) break
    texts.push({ chars: length, ms: median(times) })
  }
  return texts
}

/** Undefined if it takes more CPU time than it may. */
async function streamed(splitter: Splitter, text: string, mostMs = Number.POSITIVE_INFINITY) {
  const stream = splitter.stream()
  const before = process.cpuUsage()
  let count = 0
  for (const piece of pieces(text, pieceChars)) {
    stream.push(piece)
    if (++count % piecesPerLook === 0 && process.cpuUsage(before).user > mostMs * 1000) return undefined
  }
  return stream.end()
}

async function judge(splitter: Splitter) {
  const right = { whole: 0, streamed: 0 }
  for (const [, text, expected] of cases) {
    if (same(splitter.split(text), expected)) right.whole++
    if (same((await streamed(splitter, text)) ?? [], expected)) right.streamed++
  }
  return right
}

const same = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((text, at) => text === b[at])
