import type { Clock, MillraceError } from 'millrace'
import type { OptionTable, TurnRecord } from 'millrace/internal'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  errorListener,
  invalidInput,
  isObject,
  kindOf,
  oneOf,
  someText,
  systemClock,
  toMillraceError,
  wholeNumber,
} from 'millrace/internal'
import type { Listener } from './listener.ts'
import type { BargeInOptions } from './listening/barge-in.ts'
import { bargeIn } from './listening/barge-in.ts'
import type { SentenceOptions } from './sentences/sentence.ts'
import { sentences } from './sentences/splitter.ts'
import type { FillerOptions } from './speaking/filler.ts'
import type { Speech } from './speech.ts'

export interface VoiceOptions {
  /** Speech synthesis: `flite()`, `espeak()`, `openaiSpeech()`, `httpSpeech()`, or your own. */
  readonly speech: Speech
  /** Speech recognition: `listener()`, or your own. Without it, the server only speaks. */
  readonly listener?: Listener | undefined
  /** A voice name of `speech`. */
  readonly voice?: string | undefined
  /** BCP 47. Used by the speech synthesizer, the listener and the sentence splitter. */
  readonly language?: string | undefined
  readonly sentences?: SentenceOptions | undefined
  /** Synthesis pauses while this much unplayed speech is ready. Default: 2 sentences or 5000 ms. */
  readonly lookAhead?:
    | { readonly sentences?: number | undefined; readonly ms?: number | undefined }
    | undefined
  /** A sentence is skipped if the synthesizer produces nothing for this long. Default: 10000. */
  readonly speechTimeoutMs?: number | undefined
  /** What to say while the user waits for a tool. Default: nothing. */
  readonly filler?: FillerOptions | undefined
  /**
   * What happens to the run when the user interrupts: `cancel` (the default) ends it, `continue`
   * passes it the new input.
   */
  readonly onInterrupt?: 'cancel' | 'continue' | undefined
  /** When the user's speech interrupts the agent's; `false` for never. */
  readonly bargeIn?: BargeInOptions | false | undefined
  /**
   * How long a client that lost its connection has to reconnect. After that, only what it had
   * played counts as heard. Default: 10000.
   */
  readonly reconnectMs?: number | undefined
  /** Called with the record of each turn. */
  readonly onRecord?: ((record: TurnRecord, threadId: string) => void) | undefined
  /**
   * Called with the details of failures, such as a sentence that could not be synthesized or speech
   * that could not be transcribed. Clients only learn that something failed. Default: stderr.
   */
  readonly onError?: ((error: MillraceError) => void) | undefined
  readonly clock?: Clock | undefined
}

/** The options with all defaults applied. */
export interface VoiceSettings {
  readonly speech: Speech
  readonly listener: Listener | undefined
  readonly voice: string | undefined
  readonly language: string | undefined
  readonly sentences: SentenceOptions
  readonly lookAhead: { readonly sentences: number; readonly ms: number }
  readonly speechTimeoutMs: number
  readonly filler: FillerOptions | undefined
  readonly onInterrupt: 'cancel' | 'continue'
  readonly bargeIn: BargeInOptions | false
  readonly reconnectMs: number
  readonly onRecord: (record: TurnRecord, threadId: string) => void
  readonly onError: (error: unknown) => void
  readonly clock: Clock
}

const op = 'voice'

const table: OptionTable<VoiceOptions> = {
  speech: (value) =>
    !(isObject(value) && typeof value.synthesize === 'function') &&
    'must be a speech synthesizer, such as flite() of @millrace/voice, or an object with synthesize()',
  listener: (value) =>
    !(isObject(value) && typeof value.listen === 'function') &&
    'must be a listener, such as listener() of @millrace/voice, or an object with listen()',
  voice: someText,
  language: someText,
  sentences: anObject,
  lookAhead: anObject,
  speechTimeoutMs: duration,
  filler: anObject,
  onInterrupt: oneOf('cancel', 'continue'),
  bargeIn: (value) => value !== false && anObject(value),
  reconnectMs: duration,
  onRecord: aFunction,
  onError: aFunction,
  clock: anObject,
}

const lookAheadTable: OptionTable<{ sentences: number; ms: number }> = {
  sentences: wholeNumber(1),
  ms: duration,
}

const fillerTable: OptionTable<FillerOptions> = {
  text: (value) => typeof value !== 'function' && someText(value),
  afterMs: duration,
}

/** Throws `invalid_input` with the name of the invalid option. */
export function readVoiceOptions(options: VoiceOptions): VoiceSettings {
  if (!isObject(options as unknown))
    throw invalidInput(
      op,
      `voice() takes an object of options, such as { speech: flite() }, not ${kindOf(options)}`,
    )
  checkOptions({ ...options, speech: options.speech ?? null }, table, { op, what: 'the option' })
  const { lookAhead = {}, filler, language } = options
  checkOptions(lookAhead, lookAheadTable, { op, what: 'the option lookAhead.' })
  if (filler)
    checkOptions({ ...filler, text: filler.text ?? null }, fillerTable, { op, what: 'the option filler.' })
  const { sentences: ahead = 2, ms = 5000 } = lookAhead
  const report = errorListener(options.onError)
  const onError = (thrown: unknown) => report(toMillraceError(thrown, { op, code: 'internal' }))
  const settings = {
    speech: options.speech,
    listener: options.listener,
    voice: options.voice,
    language,
    sentences: { language, ...options.sentences },
    lookAhead: { sentences: ahead, ms },
    speechTimeoutMs: options.speechTimeoutMs ?? 10_000,
    filler,
    onInterrupt: options.onInterrupt ?? 'cancel',
    bargeIn: options.bargeIn ?? {},
    reconnectMs: options.reconnectMs ?? 10_000,
    onRecord(record: TurnRecord, threadId: string) {
      // Nothing awaits the callback: an uncaught exception or rejection would end the process.
      const notify = async () => options.onRecord?.(record, threadId)
      notify().catch(onError)
    },
    onError,
    clock: options.clock ?? systemClock,
  }
  // Validates the nested options.
  sentences(settings.sentences)
  if (settings.bargeIn) bargeIn(settings.bargeIn)
  return settings
}
