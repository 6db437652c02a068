/** Records both sides of a call: the caller on the left, the desk on the right. */
export interface Recording {
  /** Both must have the same length. */
  add(caller: Int16Array, desk: Int16Array): void
  wav(): Uint8Array
}

export function recording(sampleRate: number): Recording {
  const pieces: Int16Array[] = []

  return {
    add(caller, desk) {
      pieces.push(
        Int16Array.from({ length: caller.length * 2 }, (_, at) => (at % 2 ? desk : caller)[at >> 1] ?? 0),
      )
    },
    wav() {
      const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
      const file = new Uint8Array(44 + bytes)
      file.set(wavHeader({ bytes, sampleRate, channels: 2 }))
      let at = 44
      for (const { buffer, byteLength } of pieces) {
        file.set(new Uint8Array(buffer), at)
        at += byteLength
      }
      return file
    },
  }
}

/** RIFF, with a chunk for the format and one for the samples. */
function wavHeader({ bytes, sampleRate, channels }: { bytes: number; sampleRate: number; channels: number }) {
  const header = new DataView(new ArrayBuffer(44))
  const frame = channels * 2
  const words: [number, string][] = [
    [0, 'RIFF'],
    [8, 'WAVEfmt '],
    [36, 'data'],
  ]
  for (const [at, word] of words) new TextEncoder().encodeInto(word, new Uint8Array(header.buffer, at))
  header.setUint32(4, 36 + bytes, true)
  header.setUint32(16, 16, true)
  header.setUint16(20, 1, true)
  header.setUint16(22, channels, true)
  header.setUint32(24, sampleRate, true)
  header.setUint32(28, sampleRate * frame, true)
  header.setUint16(32, frame, true)
  header.setUint16(34, 16, true)
  header.setUint32(40, bytes, true)
  return new Uint8Array(header.buffer)
}
