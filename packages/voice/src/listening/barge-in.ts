import { checkOptions, duration, type OptionTable, type Problem } from 'millrace/internal'
import { backChannel, backChannels } from './back-channels.ts'

/**
 * What to do when the user speaks while the agent is speaking:
 * - `check`: get the transcript so far and pass it to `partialTranscript`
 * - `pause`: pause playback and keep the rest
 * - `resume`: resume playback; it was not an interruption
 * - `interrupt`: stop playback and drop the rest
 */
export type BargeInAction = 'check' | 'pause' | 'resume' | 'interrupt'

/**
 * Decides about interruptions while the agent speaks. It has no timers: the events say how long the
 * user has spoken. Pass it the listener's events in order and apply the actions it returns;
 * undefined means no change.
 */
export interface BargeIn {
  /** Call it for each `speech` event. */
  speech(ms: number): BargeInAction | undefined
  /** Call it with the transcript so far, after `check`. A late call is harmless. */
  partialTranscript(text: string): BargeInAction | undefined
  /** Call it for each `silence` event. */
  silence(): void
  /**
   * Call it for each `transcript` event. After `interrupt` the text is the user's next message,
   * even if the interruption was reported before. Otherwise the text is ignored.
   */
  transcript(text: string): BargeInAction | undefined
  /** Call it when the agent starts or stops speaking. */
  reset(): void
}

export interface BargeInOptions {
  /** Speech of this length is checked, and again after each further period. Default: 300. */
  readonly afterMs?: number | undefined
  /** Playback pauses if there is no transcript this long after a check. Default: 250. */
  readonly transcriptTimeoutMs?: number | undefined
  /** Speech of this length interrupts even without a transcript. Default: 1500. */
  readonly interruptMs?: number | undefined
  /** Phrases that do not interrupt. Default: those of `language`, or of all known languages. */
  readonly backChannels?: readonly string[] | undefined
  /** BCP 47. */
  readonly language?: string | undefined
}

const table: OptionTable<BargeInOptions> = {
  afterMs: duration,
  transcriptTimeoutMs: duration,
  interruptMs: duration,
  backChannels: (value): Problem =>
    !(Array.isArray(value) && value.every((one) => typeof one === 'string')) && 'must be a list of phrases',
  language: (value): Problem => typeof value !== 'string' && 'must be a language tag, like en or pt-BR',
}

export function bargeIn(options: BargeInOptions = {}): BargeIn {
  checkOptions(options, table, { op: 'bargeIn', what: 'the option' })
  const { afterMs = 300, transcriptTimeoutMs = 250, interruptMs = 1500, language } = options
  const matcher = backChannel(options.backChannels ?? phrasesFor(language))
  let isPaused = false
  let isInterrupted = false
  let isSpeaking = false
  /** The number of ended utterances without a transcript. */
  let pendingTranscripts = 0
  let askedAt: number | undefined
  let isAnswered = false
  /** Speech up to here was only back-channel phrases. */
  let harmlessMs = 0

  function resetUtterance() {
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
      if (ms - harmlessMs >= interruptMs) return interrupt()
      if (askedAt === undefined || (isAnswered && ms >= askedAt + afterMs)) {
        askedAt = ms
        isAnswered = false
        return 'check'
      }
      return !isAnswered && ms >= askedAt + transcriptTimeoutMs ? pause() : undefined
    },
    partialTranscript(text) {
      if (isInterrupted || !isSpeaking || askedAt === undefined) return undefined
      isAnswered = true
      const said = matcher.classifyPartial(text)
      if (said === 'unsure') return pause()
      if (said === 'intended') return interrupt()
      harmlessMs = askedAt
      return pendingTranscripts === 0 ? resume() : undefined
    },
    silence() {
      resetUtterance()
      pendingTranscripts++
    },
    transcript(text) {
      pendingTranscripts = Math.max(0, pendingTranscripts - 1)
      if (text.trim() !== '' && !matcher.matches(text)) return interrupt()
      if (isInterrupted || isSpeaking || pendingTranscripts > 0) return undefined
      return resume()
    },
    reset() {
      resetUtterance()
      isPaused = false
      isInterrupted = false
      pendingTranscripts = 0
    },
  }
}

function phrasesFor(language: string | undefined): readonly string[] {
  const base = language?.toLowerCase().split('-')[0] ?? ''
  return Object.hasOwn(backChannels, base)
    ? backChannels[base as keyof typeof backChannels]
    : Object.values(backChannels).flat()
}
