/** Transcribes speech. */
export interface Transcriber {
  /**
   * Takes mono audio at 16 kHz and resolves to its text, or '' if there are no words. Rejects on
   * failure. Must settle soon after `signal` is aborted. May be called concurrently.
   */
  transcribe(pcm: Int16Array, options: TranscribeOptions): Promise<string>
  /** Loads the model early, so that the first utterance does not wait. Rejects if that fails. */
  ready?(): Promise<void>
  /** Releases its resources. The next use loads them again. */
  close?(): Promise<void>
}

export interface TranscribeOptions {
  readonly signal: AbortSignal
  /** BCP 47. For transcribers with several languages. */
  readonly language?: string | undefined
}
