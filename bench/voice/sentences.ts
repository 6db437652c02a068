import { sentences, splitSentences } from '@millrace/voice'
import { cases } from '../../packages/voice/src/sentences/cases.test-kit.ts'
import { during, measure, median } from '../harness/measure.ts'
import { versionOf } from '../harness/report.ts'
import type { SplittingSize } from './part.ts'
import { pieces, prose } from './texts.ts'

/** The figures of a splitter. */
export interface Split {
  readonly name: string
  readonly title: string
  /** CPU time for each text length. Long texts are missing if they took too long. */
  readonly texts: readonly { readonly chars: number; readonly ms: number }[]
  /** How many test cases are right, as a whole text and in pieces. */
  readonly right: { readonly whole: number; readonly streamed: number }
}

export interface Splitting {
  readonly pieceChars: number
  /** The lengths of the texts, and the time limit for each. */
  readonly chars: readonly number[]
  readonly mostMs: number
  readonly cases: number
  readonly splitters: readonly Split[]
}

/** About the length of a token. */
const pieceChars = 4
/** Reading the clock takes longer than processing a piece. */
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
      right: await countRight(splitter),
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
    // A slow text is not repeated.
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

/** Undefined if it exceeds the limit of CPU time. */
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

async function countRight(splitter: Splitter) {
  const right = { whole: 0, streamed: 0 }
  for (const [, text, expected] of cases) {
    if (same(splitter.split(text), expected)) right.whole++
    if (same((await streamed(splitter, text)) ?? [], expected)) right.streamed++
  }
  return right
}

const same = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((text, at) => text === b[at])

/** Splits text into non-empty sentences without surrounding space. */
export interface Splitter {
  readonly name: string
  readonly title: string
  /** Splits a complete text. */
  split(text: string): string[]
  /** Splits a text that arrives in pieces. */
  stream(): SplitterStream
}

export interface SplitterStream {
  /** Finds the sentences that this piece completes. */
  push(piece: string): void
  /** Returns all sentences. */
  end(): string[] | Promise<string[]>
}

const plain = (all: readonly string[]) => all.map((text) => text.trim()).filter((text) => text !== '')

const ours: Splitter = {
  name: 'ours',
  title: 'Millrace',
  split: (text) => splitSentences(text),
  stream() {
    const splitter = sentences()
    const all: string[] = []
    const keep = (found: readonly { readonly source: string }[]) => {
      for (const { source } of found) all.push(source)
    }
    return {
      push: (piece) => keep(splitter.push(piece)),
      end() {
        keep(splitter.flush())
        return plain(all)
      },
    }
  },
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
const segmentsOf = (text: string) => Array.from(segmenter.segment(text), ({ segment }) => segment)

/** Segments the rest of the text. All segments but the last, which may continue, are complete. */
const segmenterOverRest: Splitter = {
  name: 'rest',
  title: 'Intl.Segmenter over the rest',
  split: (text) => plain(segmentsOf(text)),
  stream() {
    const all: string[] = []
    let rest = ''
    return {
      push(piece) {
        rest += piece
        const found = segmentsOf(rest)
        rest = found.pop() ?? ''
        all.push(...found)
      },
      end: () => plain([...all, rest]),
    }
  },
}

/** Segments the whole text again. */
const segmenterOverAll: Splitter = {
  name: 'all',
  title: 'Intl.Segmenter over the whole text',
  split: (text) => plain(segmentsOf(text)),
  stream() {
    let text = ''
    let found: string[] = []
    return {
      push(piece) {
        text += piece
        found = segmentsOf(text)
      },
      end: () => plain(found),
    }
  },
}

export const splitters: readonly Splitter[] = [ours, segmenterOverRest, segmenterOverAll]

// This peer's package includes WebRTC, image codecs and more, 280 MB in total, so it is measured
// only if installed.

const name = '@livekit/agents'

/** The part that is used here. */
interface Agents {
  readonly tokenize: {
    readonly basic: {
      readonly SentenceTokenizer: new (options: {
        minSentenceLength: number
        streamContextLength: number
      }) => SentenceTokenizer
    }
  }
}

interface SentenceTokenizer {
  tokenize(text: string): string[]
  stream(): AsyncIterableIterator<{ readonly token: string }> & {
    pushText(text: string): void
    endInput(): void
  }
}

/** Undefined if not installed. Short sentences are not joined, as with the other splitters. */
export async function livekit(): Promise<Splitter | undefined> {
  if (versionOf(name) === undefined) return undefined
  const { tokenize }: Agents = await import(name)
  const tokenizer = new tokenize.basic.SentenceTokenizer({ minSentenceLength: 1, streamContextLength: 1 })
  return {
    name: 'livekit',
    title: 'LiveKit, basic sentence tokenizer',
    split: (text) => tokenizer.tokenize(text).map((sentence) => sentence.trim()),
    stream() {
      const stream = tokenizer.stream()
      return {
        push(piece) {
          stream.pushText(piece)
        },
        async end() {
          stream.endInput()
          const all: string[] = []
          for await (const { token } of stream) all.push(token.trim())
          return all
        },
      }
    },
  }
}
