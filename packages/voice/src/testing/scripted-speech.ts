import type { Clock } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { aFunction, sleep, systemClock, wholeNumber, yesOrNo } from 'millrace/internal'
import { checkKitOptions, clockProblem, milliseconds } from 'millrace/internal/testing'
import type { Speech, SpeechChunk, SpokenWord, SynthesizeOptions } from '../index.ts'

export interface ScriptedSpeechOptions {
  /** How long each character takes to say, a space too; 50 if absent. */
  readonly msPerChar?: number
  /** 16000 if absent. */
  readonly sampleRate?: number
  /** Whether it tells when each word is heard; true if absent. */
  readonly words?: boolean
  /** How much sound comes at a time; 200 if absent. */
  readonly chunkMs?: number
  /** Waits so long before the first sound of a text; 0 if absent. */
  readonly delayMs?: number
  /** Waits so long before each further chunk: more than `chunkMs` is slower than speech. 0 if absent. */
  readonly paceMs?: number
  readonly clock?: Clock
  /** What goes wrong with a text, if anything does: it is thrown instead of the first sound. */
  readonly fail?: (text: string) => string | Error | undefined
  /** Whether a text is never said. `deaf`: it does not end either when it is aborted, as a voice should. */
  readonly hang?: (text: string) => boolean | 'deaf'
}

/** What became of one text. */
export interface SaidText {
  readonly text: string
  readonly options: Omit<SynthesizeOptions, 'signal'>
  /** How much of it was given out. */
  readonly ms: number
  /** Whether its signal was aborted before it was all given out. */
  readonly aborted: boolean
}

export interface ScriptedSpeech extends Speech {
  /** Every text it was told to say, in order. */
  readonly said: readonly SaidText[]
  /** How loud a word is: the same in all its samples. A space is silent. */
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
 * A voice for tests, of which everything is known beforehand. The character at `index` is heard from `index · msPerChar` on, and a
 * word is a constant level that is made of its letters.
 */
export function scriptedSpeech(options: ScriptedSpeechOptions = {}): ScriptedSpeech {
  checkKitOptions(options, table, 'scriptedSpeech')
  const { msPerChar = 50, sampleRate = 16_000, words: tellsWords = true, chunkMs = 200 } = options
  const { delayMs = 0, paceMs = 0, clock = systemClock, fail, hang } = options
  const said: SaidText[] = []
  const sampleAt = (ms: number) => Math.round((ms * sampleRate) / 1000)

  function synthesize(text: string, { signal, ...rest }: SynthesizeOptions): AsyncIterable<SpeechChunk> {
    const record = { text, options: rest, ms: 0, aborted: signal.aborted }
    said.push(record)
    return say(record, signal)
  }

  async function* say(record: SaidText & { ms: number; aborted: boolean }, signal: AbortSignal) {
    const { text } = record
    const wholeMs = text.length * msPerChar
    const note = () => {
      record.aborted = record.ms < wholeMs
    }
    signal.addEventListener('abort', note)
    try {
      await begin(text, signal)
      yield* soundOf(text, signal, (ms) => {
        record.ms = ms
      })
    } finally {
      signal.removeEventListener('abort', note)
    }
  }

  async function begin(text: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const hangs = hang?.(text)
    if (hangs === 'deaf') await new Promise(() => {})
    if (hangs) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    if (delayMs > 0) await sleep(delayMs, { clock, signal })
    signal.throwIfAborted()
    const failure = fail?.(text)
    if (failure !== undefined) throw typeof failure === 'string' ? new Error(failure) : failure
  }

  async function* soundOf(text: string, signal: AbortSignal, give: (ms: number) => void) {
    const wholeMs = text.length * msPerChar
    const pcm = new Int16Array(sampleAt(wholeMs))
    const words = wordsOf(text, msPerChar)
    for (const { start, end, startMs, endMs } of words)
      pcm.fill(levelOf(text.slice(start, end)), sampleAt(startMs), sampleAt(endMs))
    for (let fromMs = 0; fromMs < wholeMs; fromMs += chunkMs) {
      if (fromMs > 0 && paceMs > 0) await sleep(paceMs, { clock, signal })
      signal.throwIfAborted()
      const toMs = Math.min(fromMs + chunkMs, wholeMs)
      give(toMs)
      const chunk = { pcm: pcm.slice(sampleAt(fromMs), sampleAt(toMs)), sampleRate }
      const begun = words.filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
      yield tellsWords ? { ...chunk, words: begun } : chunk
    }
  }

  return { synthesize, said, levelOf }
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
