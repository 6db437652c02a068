/** An ear: sound in, words out. */
export interface Listener {
  /** Begins to listen to one microphone. */
  listen(options: ListeningOptions): Hearing
  /** Gives up what it holds. */
  close?(): Promise<void>
}

export interface ListeningOptions {
  /** Of what `hear` is given. */
  readonly sampleRate: number
  /** Told of everything that is heard, in order. */
  readonly onEvent: (event: HearingEvent) => void
  /** BCP 47. For listeners that know several. */
  readonly language?: string | undefined
}

/** One microphone. */
export interface Hearing {
  /** Takes any number of samples. Never waits and never throws: what cannot be understood is told as `failed`. */
  hear(pcm: Int16Array): void
  /** What has been said of the current utterance so far; '' if there is none. Does not reject. */
  soFar(): Promise<string>
  close(): void
}

/** `atMs` counts the audio that was given, not the clock on the wall. */
export type HearingEvent =
  /** Somebody speaks, and has for `ms` milliseconds: told at the beginning and again and again as it goes on. */
  | { readonly type: 'speech'; readonly atMs: number; readonly ms: number }
  /** The utterance is over; `ms` is how long it was, without the silence behind it. */
  | { readonly type: 'silence'; readonly atMs: number; readonly ms: number }
  /** What was said in it, a little later; '' if nothing was understood. One for each `silence`, in order. */
  | { readonly type: 'transcript'; readonly text: string; readonly ms: number }
  | { readonly type: 'failed'; readonly error: unknown }
