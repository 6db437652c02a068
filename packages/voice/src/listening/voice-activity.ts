/** What all that listens here works with: 16,000 samples a second, of 16 bits, in frames of 32 ms. */
export const heardRate = 16_000
export const frameSamples = 512
export const frameMs = (frameSamples / heardRate) * 1000

/** Tells speech from other sound. */
export interface VoiceActivity {
  /** One for each microphone. Does not throw. */
  open(): VoiceDetector
  /** Loads what it needs, so that the first words do not wait for it. Rejects with what is wrong. */
  ready?(): Promise<void>
  /** Gives up what it holds; used again, it is loaded again. */
  close?(): Promise<void>
}

export interface VoiceDetector {
  /**
   * Takes a whole number of frames of 512 samples at 16 kHz, and says of each how likely it is, from 0 to 1, that somebody speaks. They
   * follow on what came before; it is asked again only after it has answered.
   */
  detect(pcm: Int16Array): Promise<readonly number[]>
}
