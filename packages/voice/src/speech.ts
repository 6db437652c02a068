/** Speech synthesis: text in, audio out. */
export interface Speech {
  /**
   * Speaks a text of one or a few sentences. Chunks may have any length, and the first one should
   * come as early as possible. Throws on failure. Must end soon after `signal` is aborted, normally
   * or by throwing.
   */
  synthesize(text: string, options: SynthesizeOptions): AsyncIterable<SpeechChunk>
  /**
   * Called before the first text, so that slow loading can start early. May be called repeatedly.
   */
  ready?(): void
  /** Releases its resources. Called once, after its last use. */
  close?(): Promise<void>
}

export interface SynthesizeOptions {
  readonly signal: AbortSignal
  /** A voice name of this synthesizer; its default voice if absent. */
  readonly voice?: string | undefined
  /** BCP 47, such as `en` or `pt-BR`. For synthesizers with several languages. */
  readonly language?: string | undefined
}

export interface SpeechChunk {
  /** Mono. */
  readonly pcm: Int16Array
  /** The same in all chunks of a text. */
  readonly sampleRate: number
  /** Word timings that are known by now. Each word is listed once, in order. */
  readonly words?: readonly SpokenWord[]
}

/**
 * `text.slice(start, end)` is spoken from `startMs` to `endMs`, counted from the first sample of
 * the text.
 */
export interface SpokenWord {
  readonly start: number
  readonly end: number
  readonly startMs: number
  readonly endMs: number
}
