export interface RecorderOptions {
  /** The sample rate of the microphone. */
  readonly inputRate: number
  /** The sample rate of the output. */
  readonly sampleRate: number
  readonly onAudio: (pcm: Int16Array<ArrayBuffer>) => void
}

/** How much audio is passed on at once. */
const batchMs = 20

/**
 * Converts microphone samples to 16 bits at the sample rate of the voice line. Each output sample
 * is the mean of the input samples that it replaces, which filters well enough for speech.
 */
export function recorder({ inputRate, sampleRate, onAudio }: RecorderOptions) {
  const batch = new Int16Array(Math.round((sampleRate * batchMs) / 1000))
  let filled = 0
  let sum = 0
  let count = 0
  /** How much of the next output sample has been collected, as a fraction. */
  let progress = 0

  function write(value: number) {
    batch[filled++] = Math.round(Math.max(-1, Math.min(1, value)) * 32_767)
    if (filled < batch.length) return
    onAudio(batch.slice())
    filled = 0
  }

  return (input: Float32Array) => {
    for (const value of input) {
      sum += value
      count++
      for (progress += sampleRate / inputRate; progress >= 1; progress--) write(sum / count)
      if (progress < sampleRate / inputRate) {
        sum = 0
        count = 0
      }
    }
  }
}
