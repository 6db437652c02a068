/** The audio source of a voice line. Each line needs its own. */
export interface Microphone {
  /**
   * Starts recording. Called once. Rejects if there is no microphone, or access to it was denied.
   */
  open(options: MicrophoneOptions): Promise<void>
  /** Releases all resources. Called once, possibly before or during `open`. */
  close(): Promise<void>
}

export interface MicrophoneOptions {
  readonly sampleRate: number
  /**
   * Call with all audio, in order, in chunks of any length. A chunk must not be changed afterwards.
   */
  readonly onAudio: (pcm: Int16Array) => void
  /** Call when the microphone was unplugged, or access to it was revoked. */
  readonly onEnd: (error: Error) => void
}
