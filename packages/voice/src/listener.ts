/** Speech recognition: audio in, text out. */
export interface Listener {
  /** Starts listening to one microphone. */
  listen(options: ListeningOptions): ListeningSession
  /** Releases its resources. */
  close?(): Promise<void>
}

export interface ListeningOptions {
  /** The sample rate of the audio passed to `push`. */
  readonly sampleRate: number
  /** Called for each event, in order. */
  readonly onEvent: (event: ListeningEvent) => void
  /** BCP 47. For listeners with several languages. */
  readonly language?: string | undefined
}

/** One microphone. */
export interface ListeningSession {
  /**
   * Accepts any number of samples. Returns at once and never throws: failures are reported as
   * `failed` events.
   */
  push(pcm: Int16Array): void
  /** The transcript of the current utterance so far, or '' if there is none. Does not reject. */
  partialTranscript(): Promise<string>
  close(): void
}

/** `atMs` is a position in the audio that was pushed, not wall-clock time. */
export type ListeningEvent =
  /**
   * The user has been speaking for `ms` milliseconds. Emitted at the start and repeatedly during
   * speech.
   */
  | { readonly type: 'speech'; readonly atMs: number; readonly ms: number }
  /** The utterance has ended. `ms` is its length, without the trailing silence. */
  | { readonly type: 'silence'; readonly atMs: number; readonly ms: number }
  /**
   * The transcript of the utterance, or '' if nothing was recognized. Follows each `silence`, in
   * order.
   */
  | { readonly type: 'transcript'; readonly text: string; readonly ms: number }
  | { readonly type: 'failed'; readonly error: unknown }
