/** Writes down what was said. */
export interface Transcriber {
  /**
   * Takes one channel at 16 kHz, and gives '' if there are no words in it. Rejects with what went wrong; ends soon after `signal` is
   * aborted, in either way. May be asked several things at once.
   */
  transcribe(pcm: Int16Array, options: TranscribeOptions): Promise<string>
  /** Loads what it needs, so that the first words do not wait for it. Rejects with what is wrong. */
  ready?(): Promise<void>
  /** Gives up what it holds; used again, it is loaded again. */
  close?(): Promise<void>
}

export interface TranscribeOptions {
  readonly signal: AbortSignal
  /** BCP 47. For those that know several. */
  readonly language?: string | undefined
}
