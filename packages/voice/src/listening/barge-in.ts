import { checkOptions, duration, type OptionTable, type Problem } from 'millrace/internal'
import { backChannel, backChannels } from './back-channels.ts'

/**
 * What to do when somebody speaks while the agent does:
 * - `suspect`: find out what was said so far, and tell it with `words`
 * - `pause`: be quiet, and keep what is left to say
 * - `resume`: go on with it; nothing was meant
 * - `interrupt`: be quiet for good
 */
export type BargeInAction = 'suspect' | 'pause' | 'resume' | 'interrupt'

/**
 * Decides about interruptions while the agent speaks. It keeps no time of its own: sound tells it how long somebody has spoken. Tell it what the
 * microphone says, in that order, and do what it answers; no answer means that all stays as it is.
 */
export interface BargeIn {
  /** Of each `speech` event. */
  speech(ms: number): BargeInAction | undefined
  /** What was understood so far, in answer to `suspect`. Late answers do no harm. */
  words(text: string): BargeInAction | undefined
  /** Of each `silence` event. */
  silence(): void
  /** Of each `transcript` event. With `interrupt` the text is what was said instead, also if it was told before; otherwise it is for nobody. */
  transcript(text: string): BargeInAction | undefined
  /** The agent begins to speak, or has ended. */
  reset(): void
}

export interface BargeInOptions {
  /** Speech for so long makes it suspicious, and again for as long; 300 if absent. */
  readonly afterMs?: number | undefined
  /** If by then nobody knows what is said, it pauses; 250 more if absent. */
  readonly patienceMs?: number | undefined
  /** Speech for so long that is not understood is an interruption too; 1500 if absent. */
  readonly sureMs?: number | undefined
  /** What does not interrupt; those of `language`, or of all that are known. */
  readonly backChannels?: readonly string[] | undefined
  /** BCP 47. */
  readonly language?: string | undefined
}

const table: OptionTable<BargeInOptions> = {
  afterMs: duration,
  patienceMs: duration,
  sureMs: duration,
  backChannels: (value): Problem =>
    !(Array.isArray(value) && value.every((one) => typeof one === 'string')) && 'must be a list of phrases',
  language: (value): Problem => typeof value !== 'string' && 'must be a language tag, like en or pt-BR',
}

export function bargeIn(options: BargeInOptions = {}): BargeIn {
  checkOptions(options, table, { op: 'bargeIn', what: 'the option' })
  const { afterMs = 300, patienceMs = 250, sureMs = 1500, language } = options
  const idle = backChannel(options.backChannels ?? phrasesOf(language))
  let isPaused = false
  let isInterrupted = false
  let isSpeaking = false
  /** Utterances that are over, and whose words are not known yet. */
  let unknown = 0
  let askedAt: number | undefined
  let isAnswered = false
  /** Up to here it was no more than a sign that somebody listens. */
  let harmlessMs = 0

  function begin() {
    isSpeaking = false
    askedAt = undefined
    isAnswered = false
    harmlessMs = 0
  }

  function pause(): BargeInAction | undefined {
    if (isPaused) return undefined
    isPaused = true
    return 'pause'
  }

  function resume(): BargeInAction | undefined {
    if (!isPaused) return undefined
    isPaused = false
    return 'resume'
  }

  function interrupt(): BargeInAction {
    isInterrupted = true
    isPaused = false
    return 'interrupt'
  }

  return {
    speech(ms) {
      isSpeaking = true
      if (isInterrupted || ms < afterMs) return undefined
      if (ms - harmlessMs >= sureMs) return interrupt()
      if (askedAt === undefined || (isAnswered && ms >= askedAt + afterMs)) {
        askedAt = ms
        isAnswered = false
        return 'suspect'
      }
      return !isAnswered && ms >= askedAt + patienceMs ? pause() : undefined
    },
    words(text) {
      if (isInterrupted || !isSpeaking || askedAt === undefined) return undefined
      isAnswered = true
      const said = idle.soFar(text)
      if (said === 'unsure') return pause()
      if (said === 'meant') return interrupt()
      harmlessMs = askedAt
      return unknown === 0 ? resume() : undefined
    },
    silence() {
      begin()
      unknown++
    },
    transcript(text) {
      unknown = Math.max(0, unknown - 1)
      if (text.trim() !== '' && !idle.is(text)) return interrupt()
      if (isInterrupted || isSpeaking || unknown > 0) return undefined
      return resume()
    },
    reset() {
      begin()
      isPaused = false
      isInterrupted = false
      unknown = 0
    },
  }
}

function phrasesOf(language: string | undefined): readonly string[] {
  const base = language?.toLowerCase().split('-')[0] ?? ''
  return Object.hasOwn(backChannels, base)
    ? backChannels[base as keyof typeof backChannels]
    : Object.values(backChannels).flat()
}
