export interface RecorderOptions {
  /** Of what is recorded. */
  readonly inputRate: number
  /** Of what comes out. */
  readonly sampleRate: number
  readonly onAudio: (pcm: Int16Array<ArrayBuffer>) => void
}

/** How much is put together before it is handed on. */
const batchMs = 20

/** Samples of a microphone as those of a line: 16 bits, at its rate. Each is the mean of those it stands for, which is filter enough for speech. */
export function recorder({ inputRate, sampleRate, onAudio }: RecorderOptions) {
  const batch = new Int16Array(Math.round((sampleRate * batchMs) / 1000))
  let filled = 0
  let sum = 0
  let count = 0
  /** How much of the next sample has been heard, in its own lengths. */
  let heard = 0

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
      for (heard += sampleRate / inputRate; heard >= 1; heard--) write(sum / count)
      if (heard < sampleRate / inputRate) {
        sum = 0
        count = 0
      }
    }
  }
}
