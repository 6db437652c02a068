import type { Clock } from 'millrace'
import {
  anObject,
  checkOptions,
  duration,
  invalidInput,
  nameOf,
  type OptionTable,
  type Problem,
  systemClock,
  yesOrNo,
} from 'millrace/internal'
import type { Listener } from '../listener.ts'
import { moonshine } from '../onnx/moonshine.ts'
import { onnxFiles } from '../onnx/packages.ts'
import { silero } from '../onnx/silero.ts'
import { listeningSession } from './listening-session.ts'
import type { Transcriber } from './transcriber.ts'
import type { VoiceActivity } from './voice-activity.ts'

export interface ListenerOptions {
  /** Voice activity detection. Default: `silero()`. */
  readonly vad?: VoiceActivity | undefined
  /** Transcription. Default: `moonshine()`. */
  readonly transcriber?: Transcriber | undefined
  /** The probability from which a frame counts as speech. Default: 0.5. */
  readonly threshold?: number | undefined
  /** Shorter sounds are ignored. Default: 100. */
  readonly startMs?: number | undefined
  /** Silence that ends an utterance. Default: 600. */
  readonly silenceMs?: number | undefined
  /** Longer utterances are transcribed in pieces. Default: 30000. */
  readonly maxMs?: number | undefined
  /**
   * Starts transcribing at a possible end, and again if speech continues. Answers sooner and costs
   * more CPU. Default: true.
   */
  readonly eager?: boolean | undefined
  /** Timeout for each call of the transcriber and of the detector. Default: 10000. */
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}

const op = 'listener'

const table: OptionTable<ListenerOptions> = {
  vad: having('open', 'a VoiceActivity, such as silero()'),
  transcriber: having('transcribe', 'a Transcriber, such as moonshine()'),
  threshold: (value) =>
    !(typeof value === 'number' && value > 0 && value < 1) &&
    `must be a number between 0 and 1, not ${nameOf(value)}`,
  startMs: duration,
  silenceMs: duration,
  maxMs: (value) => !(Number(value) >= 1000) && `must be at least 1000 milliseconds, not ${nameOf(value)}`,
  eager: yesOrNo,
  timeoutMs: duration,
  clock: anObject,
}

/**
 * A listener that combines voice activity detection and transcription. All microphones share both.
 */
export function listener(options: ListenerOptions = {}): Listener {
  checkOptions(options, table, { op, what: 'the option' })
  // Checked together, so that the error names one command that installs everything.
  if (!options.vad && !options.transcriber)
    onnxFiles({
      op,
      needs: ['onnxruntime-node', '@ricky0123/vad-web', '@moonshine-ai/moonshine-js', 'llama-tokenizer-js'],
    })
  const {
    vad = silero(),
    transcriber = moonshine(),
    threshold = 0.5,
    startMs = 100,
    silenceMs = 600,
    maxMs = 30_000,
    eager = true,
    timeoutMs = 10_000,
    clock = systemClock,
  } = options

  return {
    listen(listening) {
      const { sampleRate } = listening
      if (!(Number.isInteger(sampleRate) && sampleRate >= 8000 && sampleRate <= 48_000))
        throw invalidInput(
          op,
          `the sample rate must be a whole number from 8000 to 48000, not ${nameOf(sampleRate)}`,
        )
      return listeningSession({
        ...listening,
        vad,
        transcriber,
        threshold,
        startMs,
        silenceMs,
        maxMs,
        eager,
        timeoutMs,
        clock,
      })
    },
    async close() {
      await Promise.all([vad.close?.(), transcriber.close?.()])
    },
  }
}

function having(method: string, what: string) {
  return (value: unknown): Problem =>
    typeof (value as Record<string, unknown> | null)?.[method] !== 'function' && `must be ${what}`
}
