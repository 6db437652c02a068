/** A voice: words in, sound out. */
export interface Speech {
  /**
   * Says a text, which is one sentence or a few. Audio may come in any pieces, and should come as early as it can. Throws what went
   * wrong; ends soon after `signal` is aborted, in either way.
   */
  synthesize(text: string, options: SynthesizeOptions): AsyncIterable<SpeechChunk>
  /** Somebody is about to be spoken to: what takes a while may begin. Harmless if it is called again. */
  ready?(): void
  /** Gives up what it holds. It is used by one owner after all others are done with it. */
  close?(): Promise<void>
}

export interface SynthesizeOptions {
  readonly signal: AbortSignal
  /** One of the voice's own names for its voices; its usual one if absent. */
  readonly voice?: string | undefined
  /** BCP 47: `en`, `pt-BR`. For voices that speak several. */
  readonly language?: string | undefined
}

export interface SpeechChunk {
  /** One channel. */
  readonly pcm: Int16Array
  /** The same in all chunks of a text. */
  readonly sampleRate: number
  /** Words whose times are known by now, each told once, in order. */
  readonly words?: readonly SpokenWord[]
}

/** `text.slice(start, end)` is heard from `startMs` to `endMs`, counted from the first sample of the text. */
export interface SpokenWord {
  readonly start: number
  readonly end: number
  readonly startMs: number
  readonly endMs: number
}
