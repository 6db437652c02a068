/**
 * Splits audio chunks of any length into frames of equal length. `position` counts samples from the
 * start.
 */
export function audioFramer(
  frameSamples: number,
  onFrame: (position: number, pcm: Int16Array) => void,
): (pcm: Int16Array) => void {
  let frame = new Int16Array(frameSamples)
  let filled = 0
  let position = 0
  return (pcm) => {
    for (let at = 0; at < pcm.length; ) {
      const part = pcm.subarray(at, at + frameSamples - filled)
      frame.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < frameSamples) return
      onFrame(position, frame)
      position += frameSamples
      frame = new Int16Array(frameSamples)
      filled = 0
    }
  }
}
