/** The format of all listening code: 16-bit samples at 16 kHz, in frames of 32 ms. */
export const listeningSampleRate = 16_000
export const frameSamples = 512
export const frameMs = (frameSamples / listeningSampleRate) * 1000

/** Voice activity detection. */
export interface VoiceActivity {
  /** Opens a detector for one microphone. Does not throw. */
  open(): VoiceDetector
  /** Loads the model early, so that the first words do not wait. Rejects if that fails. */
  ready?(): Promise<void>
  /** Releases its resources. The next use loads them again. */
  close?(): Promise<void>
}

export interface VoiceDetector {
  /**
   * Takes a whole number of frames of 512 samples at 16 kHz and resolves to the speech probability
   * of each, from 0 to 1. Calls are consecutive audio, and never concurrent.
   */
  detect(pcm: Int16Array): Promise<readonly number[]>
}
