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
  /** What says it: `flite()`, `espeak()`, `openaiSpeech()`, `httpSpeech()`, or one of your own. */
  readonly speech: Speech
  /** What hears: `listener()`, or one of your own. Without it nobody is listened to. */
  readonly listener?: Listener | undefined
  /** One of the names that `speech` has for its voices. */
  readonly voice?: string | undefined
  /** BCP 47, for the voice, the listener and the cutting into sentences. */
  readonly language?: string | undefined
  readonly sentences?: SentenceOptions | undefined
  /** Nothing more is made while so many sentences, or so much audio, are there that nobody has heard yet: 2, or 5000 ms. */
  readonly lookAhead?:
    | { readonly sentences?: number | undefined; readonly ms?: number | undefined }
    | undefined
  /** A sentence is skipped when its voice gives nothing for so long; 10000 if absent. */
  readonly patienceMs?: number | undefined
  /** What is said when a tool keeps the caller waiting; nothing if absent. */
  readonly filler?: FillerOptions | undefined
  /** What becomes of the run when a person speaks in between: `cancel` ends it, `continue` lets it hear what was said. `cancel` if absent. */
  readonly onInterrupt?: 'cancel' | 'continue' | undefined
  /** When a person who speaks in between is let have the floor; `false`: never. */
  readonly bargeIn?: BargeInOptions | false | undefined
  /** So long a client whose connection is lost may take to come back, before what it has heard by then is all that was heard; 10000 if absent. */
  readonly comeBackMs?: number | undefined
  /** Told how each turn went. */
  readonly onRecord?: ((record: TurnRecord, threadId: string) => void) | undefined
  /** Told of what goes wrong while clients are told only that it did: a sentence that could not be said, speech that could not be understood. On stderr if absent. */
  readonly onError?: ((error: MillraceError) => void) | undefined
  readonly clock?: Clock | undefined
}

/** With everything filled in. */
export interface VoiceSettings {
  readonly speech: Speech
  readonly listener: Listener | undefined
  readonly voice: string | undefined
  readonly language: string | undefined
  readonly sentences: SentenceOptions
  readonly lookAhead: { readonly sentences: number; readonly ms: number }
  readonly patienceMs: number
  readonly filler: FillerOptions | undefined
  readonly onInterrupt: 'cancel' | 'continue'
  readonly bargeIn: BargeInOptions | false
  readonly comeBackMs: number
  readonly onRecord: (record: TurnRecord, threadId: string) => void
  readonly onError: (error: unknown) => void
  readonly clock: Clock
}

const op = 'voice'

const table: OptionTable<VoiceOptions> = {
  speech: (value) =>
    !(isObject(value) && typeof value.synthesize === 'function') &&
    'must be a voice, such as flite() of @millrace/voice, or an object with synthesize()',
  listener: (value) =>
    !(isObject(value) && typeof value.listen === 'function') &&
    'must be a listener, such as listener() of @millrace/voice, or an object with listen()',
  voice: someText,
  language: someText,
  sentences: anObject,
  lookAhead: anObject,
  patienceMs: duration,
  filler: anObject,
  onInterrupt: oneOf('cancel', 'continue'),
  bargeIn: (value) => value !== false && anObject(value),
  comeBackMs: duration,
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

/** Throws `invalid_input` naming the option. */
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
    patienceMs: options.patienceMs ?? 10_000,
    filler,
    onInterrupt: options.onInterrupt ?? 'cancel',
    bargeIn: options.bargeIn ?? {},
    comeBackMs: options.comeBackMs ?? 10_000,
    onRecord(record: TurnRecord, threadId: string) {
      // What it throws, or rejects with, would end the process: nobody waits for it.
      const tell = async () => options.onRecord?.(record, threadId)
      tell().catch(onError)
    },
    onError,
    clock: options.clock ?? systemClock,
  }
  // Both look at what is theirs.
  sentences(settings.sentences)
  if (settings.bargeIn) bargeIn(settings.bargeIn)
  return settings
}
