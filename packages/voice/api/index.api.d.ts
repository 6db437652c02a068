import { Clock, JsonObject, MillraceError } from 'millrace'

import { Fetch, TurnRecord } from 'millrace/internal'

import { Voice, Voice as Voice$1, VoiceOutlet, VoiceSession } from 'millrace/server'

interface BargeInOptions {
  readonly afterMs?: number | undefined
  readonly transcriptTimeoutMs?: number | undefined
  readonly interruptMs?: number | undefined
  readonly backChannels?: readonly string[] | undefined
  readonly language?: string | undefined
}

interface EspeakOptions {
  readonly program?: string | undefined
  readonly voice?: string | undefined
  readonly speed?: number | undefined
  readonly timeoutMs?: number | undefined
}

interface FillerOptions {
  readonly text: string | ((tool: string) => string | undefined)
  readonly afterMs?: number | undefined
}

interface FliteOptions {
  readonly voice?: FliteVoice | undefined
  readonly speed?: number | undefined
  readonly workers?: number | undefined
  readonly timeoutMs?: number | undefined
}

type FliteVoice = (typeof voices)[number]

type HeadersNow = Readonly<Record<string, string>>

type HeadersOf = Readonly<Record<string, string>> | (() => HeadersNow | Promise<HeadersNow>)

interface HttpSpeechOptions {
  readonly url: string
  readonly method?: 'POST' | 'GET' | undefined
  readonly headers?: HeadersOf | undefined
  readonly body?: ((text: string, options: SynthesizeOptions) => JsonObject | string) | undefined
  readonly query?:
    | ((text: string, options: SynthesizeOptions) => Readonly<Record<string, string>>)
    | undefined
  readonly format?: 'pcm' | 'wav' | undefined
  readonly sampleRate?: number | undefined
  readonly fetch?: Fetch | undefined
  readonly timeoutMs?: number | undefined
  readonly attempts?: number | undefined
  readonly provider?: string | undefined
}

interface Listener {
  listen(options: ListeningOptions): ListeningSession
  close?(): Promise<void>
}

interface ListenerOptions {
  readonly vad?: VoiceActivity | undefined
  readonly transcriber?: Transcriber | undefined
  readonly threshold?: number | undefined
  readonly startMs?: number | undefined
  readonly silenceMs?: number | undefined
  readonly maxMs?: number | undefined
  readonly eager?: boolean | undefined
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}

type ListeningEvent =
  | {
      readonly type: 'speech'
      readonly atMs: number
      readonly ms: number
    }
  | {
      readonly type: 'silence'
      readonly atMs: number
      readonly ms: number
    }
  | {
      readonly type: 'transcript'
      readonly text: string
      readonly ms: number
    }
  | {
      readonly type: 'failed'
      readonly error: unknown
    }

interface ListeningOptions {
  readonly sampleRate: number
  readonly onEvent: (event: ListeningEvent) => void
  readonly language?: string | undefined
}

interface ListeningSession {
  push(pcm: Int16Array): void
  partialTranscript(): Promise<string>
  close(): void
}

interface MoonshineOptions {
  readonly threads?: number | undefined
}

interface OpenAISpeechOptions {
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  readonly baseURL?: string | undefined
  readonly model?: string | undefined
  readonly voice?: string | undefined
  readonly instructions?: string | undefined
  readonly speed?: number | undefined
  readonly fetch?: Fetch | undefined
  readonly timeoutMs?: number | undefined
}

interface Sentence {
  readonly source: string
  readonly start: number
  readonly speech: string
  readonly origins: readonly number[]
}

interface SentenceOptions {
  readonly language?: string | undefined
  readonly minChars?: number | undefined
  readonly firstMinChars?: number | undefined
  readonly maxChars?: number | undefined
  readonly code?: 'skip' | 'mention' | 'read' | undefined
  readonly tables?: 'skip' | 'read' | undefined
  readonly markdown?: 'skip' | 'read' | undefined
  readonly links?: 'skip' | 'read' | undefined
  readonly emoji?: 'skip' | 'read' | undefined
}

interface SentenceSplitter {
  push(text: string): Sentence[]
  flush(): Sentence[]
}

interface Speech {
  synthesize(text: string, options: SynthesizeOptions): AsyncIterable<SpeechChunk>
  ready?(): void
  close?(): Promise<void>
}

interface SpeechChunk {
  readonly pcm: Int16Array
  readonly sampleRate: number
  readonly words?: readonly SpokenWord[]
}

interface SpokenWord {
  readonly start: number
  readonly end: number
  readonly startMs: number
  readonly endMs: number
}

interface SynthesizeOptions {
  readonly signal: AbortSignal
  readonly voice?: string | undefined
  readonly language?: string | undefined
}

interface TranscribeOptions {
  readonly signal: AbortSignal
  readonly language?: string | undefined
}

interface Transcriber {
  transcribe(pcm: Int16Array, options: TranscribeOptions): Promise<string>
  ready?(): Promise<void>
  close?(): Promise<void>
}

interface VoiceActivity {
  open(): VoiceDetector
  ready?(): Promise<void>
  close?(): Promise<void>
}

interface VoiceDetector {
  detect(pcm: Int16Array): Promise<readonly number[]>
}

interface VoiceOptions {
  readonly speech: Speech
  readonly listener?: Listener | undefined
  readonly voice?: string | undefined
  readonly language?: string | undefined
  readonly sentences?: SentenceOptions | undefined
  readonly lookAhead?:
    | {
        readonly sentences?: number | undefined
        readonly ms?: number | undefined
      }
    | undefined
  readonly speechTimeoutMs?: number | undefined
  readonly filler?: FillerOptions | undefined
  readonly onInterrupt?: 'cancel' | 'continue' | undefined
  readonly bargeIn?: BargeInOptions | false | undefined
  readonly reconnectMs?: number | undefined
  readonly onRecord?: ((record: TurnRecord, threadId: string) => void) | undefined
  readonly onError?: ((error: MillraceError) => void) | undefined
  readonly clock?: Clock | undefined
}

declare const backChannels: {
  readonly en: readonly string[]
  readonly de: readonly string[]
  readonly fr: readonly string[]
  readonly es: readonly string[]
  readonly it: readonly string[]
  readonly pt: readonly string[]
  readonly nl: readonly string[]
  readonly ja: readonly string[]
  readonly zh: readonly string[]
}

declare function espeak(options?: EspeakOptions): Speech

declare function flite(options?: FliteOptions): Speech

declare function httpSpeech(options: HttpSpeechOptions): Speech

declare function listener(options?: ListenerOptions): Listener

declare function moonshine(options?: MoonshineOptions): Transcriber

declare function openaiSpeech(options?: OpenAISpeechOptions): Speech

declare function sentences(options?: SentenceOptions): SentenceSplitter

declare function silero(): VoiceActivity

declare function splitSentences(text: string, options?: SentenceOptions): string[]

declare function voice(options: VoiceOptions): Voice

declare const voices: readonly ['slt', 'rms', 'awb', 'kal16', 'kal']

export {
  type BargeInOptions,
  type EspeakOptions,
  type FillerOptions,
  type FliteOptions,
  type FliteVoice,
  type HttpSpeechOptions,
  type Listener,
  type ListenerOptions,
  type ListeningEvent,
  type ListeningOptions,
  type ListeningSession,
  type MoonshineOptions,
  type OpenAISpeechOptions,
  type Sentence,
  type SentenceOptions,
  type SentenceSplitter,
  type Speech,
  type SpeechChunk,
  type SpokenWord,
  type SynthesizeOptions,
  type TranscribeOptions,
  type Transcriber,
  type Voice$1 as Voice,
  type VoiceActivity,
  type VoiceDetector,
  type VoiceOptions,
  type VoiceOutlet,
  type VoiceSession,
  backChannels,
  espeak,
  flite,
  httpSpeech,
  listener,
  moonshine,
  openaiSpeech,
  sentences,
  silero,
  splitSentences,
  voice,
}
