import { Clock } from 'millrace'

interface ScriptedSpeech extends Speech {
  readonly texts: readonly SpokenText[]
  levelOf(word: string): number
}

interface ScriptedSpeechOptions {
  readonly msPerChar?: number
  readonly sampleRate?: number
  readonly words?: boolean
  readonly chunkMs?: number
  readonly delayMs?: number
  readonly paceMs?: number
  readonly clock?: Clock
  readonly fail?: (text: string) => string | Error | undefined
  readonly hang?: (text: string) => boolean | 'ignore-abort'
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

interface SpokenText {
  readonly text: string
  readonly options: Omit<SynthesizeOptions, 'signal'>
  readonly ms: number
  readonly aborted: boolean
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

declare function scriptedSpeech(options?: ScriptedSpeechOptions): ScriptedSpeech

export { type ScriptedSpeech, type ScriptedSpeechOptions, type SpokenText, scriptedSpeech }
