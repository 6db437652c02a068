import type { Clock } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { aFunction, sleep, systemClock, wholeNumber, yesOrNo } from 'millrace/internal'
import { checkKitOptions, clockProblem, milliseconds } from 'millrace/internal/testing'
import type { Speech, SpeechChunk, SpokenWord, SynthesizeOptions } from '../index.ts'

export interface ScriptedSpeechOptions {
  /** How long each character takes, including spaces. Default: 50. */
  readonly msPerChar?: number
  /** Default: 16000. */
  readonly sampleRate?: number
  /** Whether chunks include word timings. Default: true. */
  readonly words?: boolean
  /** The length of a chunk. Default: 200. */
  readonly chunkMs?: number
  /** The delay before the first chunk of a text. Default: 0. */
  readonly delayMs?: number
  /**
   * The delay before each further chunk. More than `chunkMs` is slower than real time. Default: 0.
   */
  readonly paceMs?: number
  readonly clock?: Clock
  /** Returns an error to throw instead of the first chunk, or undefined. */
  readonly fail?: (text: string) => string | Error | undefined
  /** Whether synthesis of a text hangs. With `ignore-abort` it hangs even after an abort. */
  readonly hang?: (text: string) => boolean | 'ignore-abort'
}

/** What happened to one text. */
export interface SpokenText {
  readonly text: string
  readonly options: Omit<SynthesizeOptions, 'signal'>
  /** How much audio was produced. */
  readonly ms: number
  /** Whether the signal was aborted before all audio was produced. */
  readonly aborted: boolean
}

export interface ScriptedSpeech extends Speech {
  /** The texts passed to `synthesize`, in order. */
  readonly texts: readonly SpokenText[]
  /** The level of a word, which is the value of all its samples. Spaces are silent. */
  levelOf(word: string): number
}

const table: OptionTable<ScriptedSpeechOptions> = {
  msPerChar: milliseconds,
  sampleRate: wholeNumber(1000),
  words: yesOrNo,
  chunkMs: (value) => milliseconds(value) || (value === 0 && 'must be more than 0'),
  delayMs: milliseconds,
  paceMs: milliseconds,
  clock: clockProblem,
  fail: aFunction,
  hang: aFunction,
}

/**
 * A deterministic speech synthesizer for tests. The character at `index` starts at
 * `index · msPerChar`, and each word is a constant level that depends on its letters.
 */
export function scriptedSpeech(options: ScriptedSpeechOptions = {}): ScriptedSpeech {
  checkKitOptions(options, table, 'scriptedSpeech')
  const { msPerChar = 50, sampleRate = 16_000, words: reportsWords = true, chunkMs = 200 } = options
  const { delayMs = 0, paceMs = 0, clock = systemClock, fail, hang } = options
  const texts: SpokenText[] = []
  const sampleAt = (ms: number) => Math.round((ms * sampleRate) / 1000)

  function synthesize(text: string, { signal, ...rest }: SynthesizeOptions): AsyncIterable<SpeechChunk> {
    const record = { text, options: rest, ms: 0, aborted: signal.aborted }
    texts.push(record)
    return say(record, signal)
  }

  async function* say(record: SpokenText & { ms: number; aborted: boolean }, signal: AbortSignal) {
    const { text } = record
    const totalMs = text.length * msPerChar
    const markAborted = () => {
      record.aborted = record.ms < totalMs
    }
    signal.addEventListener('abort', markAborted)
    try {
      await waitForStart(text, signal)
      yield* audioOf(text, signal, (ms) => {
        record.ms = ms
      })
    } finally {
      signal.removeEventListener('abort', markAborted)
    }
  }

  async function waitForStart(text: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const hangs = hang?.(text)
    if (hangs === 'ignore-abort') await new Promise(() => {})
    if (hangs) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    if (delayMs > 0) await sleep(delayMs, { clock, signal })
    signal.throwIfAborted()
    const failure = fail?.(text)
    if (failure !== undefined) throw typeof failure === 'string' ? new Error(failure) : failure
  }

  async function* audioOf(text: string, signal: AbortSignal, onProgress: (ms: number) => void) {
    const wholeMs = text.length * msPerChar
    const pcm = new Int16Array(sampleAt(wholeMs))
    const words = wordsOf(text, msPerChar)
    for (const { start, end, startMs, endMs } of words)
      pcm.fill(levelOf(text.slice(start, end)), sampleAt(startMs), sampleAt(endMs))
    for (let fromMs = 0; fromMs < wholeMs; fromMs += chunkMs) {
      if (fromMs > 0 && paceMs > 0) await sleep(paceMs, { clock, signal })
      signal.throwIfAborted()
      const toMs = Math.min(fromMs + chunkMs, wholeMs)
      onProgress(toMs)
      const chunk = { pcm: pcm.slice(sampleAt(fromMs), sampleAt(toMs)), sampleRate }
      const started = words.filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
      yield reportsWords ? { ...chunk, words: started } : chunk
    }
  }

  return { synthesize, texts, levelOf }
}

function wordsOf(text: string, msPerChar: number): SpokenWord[] {
  return [...text.matchAll(/\S+/g)].map(({ 0: word, index: start }) => {
    const end = start + word.length
    return { start, end, startMs: start * msPerChar, endMs: end * msPerChar }
  })
}

/** From 1000 to 20999. */
function levelOf(word: string): number {
  let hash = 7
  for (const character of word) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 20_000
  return 1000 + hash
}
