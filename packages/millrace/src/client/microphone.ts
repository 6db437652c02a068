/** Where the sound that a voice line sends comes from. One is for one line. */
export interface Microphone {
  /** Begins, once. Rejects if there is nothing to hear with, or it may not be used. */
  open(options: MicrophoneOptions): Promise<void>
  /** Gives up what it holds, once; it may not have been opened, or be about to be. */
  close(): Promise<void>
}

export interface MicrophoneOptions {
  readonly sampleRate: number
  /** Told of all sound, in order, in pieces of any length. They are not used again by whoever hands them over. */
  readonly onAudio: (pcm: Int16Array) => void
  /** It is not there any more: it was unplugged, or the person took it back. */
  readonly onEnd: (error: Error) => void
}
