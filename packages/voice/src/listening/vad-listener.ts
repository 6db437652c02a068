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
import { hearing } from './hearing.ts'
import type { Transcriber } from './transcriber.ts'
import type { VoiceActivity } from './voice-activity.ts'

export interface ListenerOptions {
  /** Tells speech from other sound; `silero()` if absent. */
  readonly vad?: VoiceActivity | undefined
  /** Writes down what was said; `moonshine()` if absent. */
  readonly transcriber?: Transcriber | undefined
  /** From this probability on it is speech; 0.5 if absent. */
  readonly threshold?: number | undefined
  /** A voice for less than this is none; 100 if absent. */
  readonly startMs?: number | undefined
  /** So long a silence ends what somebody says; 600 if absent. */
  readonly silenceMs?: number | undefined
  /** What is longer is written down in pieces, which are joined; 30,000 if absent. */
  readonly maxMs?: number | undefined
  /** Begins to write down as soon as there may be the end, and does it again if it was none; true if absent. Costs more, and answers earlier. */
  readonly eager?: boolean | undefined
  /** The longest that is waited for the transcriber, and for the detector; 10,000 if absent. */
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}

const op = 'listener'

const table: OptionTable<ListenerOptions> = {
  vad: having('open', 'a VoiceActivity, as silero() gives it'),
  transcriber: having('transcribe', 'a Transcriber, as moonshine() gives it'),
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

/** A listener made of one that tells speech from other sound, and one that writes down what was said. All microphones share them. */
export function listener(options: ListenerOptions = {}): Listener {
  checkOptions(options, table, { op, what: 'the option' })
  // Both at once, so that one command installs what both need.
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
      return hearing({
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
