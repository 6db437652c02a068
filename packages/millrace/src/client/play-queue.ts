import type { Played, PlayerChunk } from './player.ts'

/** The queue of audio to play, on the audio thread. */
export interface PlayQueue {
  push(chunk: PlayerChunk): void
  drop(clip: number, position: number): Played
  pause(): Played
  resume(): void
  /** Writes the next samples. The rest of `out` is left unchanged, which is silence. */
  fill(out: Float32Array): void
  /** The playback position. */
  played(): Played
}

export interface PlayQueueOptions {
  /** The rate of the chunks that are pushed. */
  readonly sampleRate: number
  /** The rate of the output. */
  readonly outputRate: number
}

/**
 * Audio that is cut off fades out for this long, to avoid a click. The fade does not count as
 * played.
 */
const fadeMs = 4

export function playQueue({ sampleRate, outputRate }: PlayQueueOptions): PlayQueue {
  /** How far the position advances per output sample. */
  const step = sampleRate / outputRate
  const fadeSamples = Math.round((outputRate * fadeMs) / 1000)
  let chunks: PlayerChunk[] = []
  /** The next position in the first chunk. May be between two samples if the rates differ. */
  let at = 0
  let clip = 0
  let position = 0
  let isPaused = false
  /** How many samples have faded in. */
  let fadedIn = 0
  /** The fade-out of audio that was cut off. */
  let tail: Float32Array = new Float32Array(0)

  function played(): Played {
    return { clip, position, idle: chunks.length === 0 }
  }

  /** Linear interpolation between two samples. */
  function sampleAt(index: number, chunk: PlayerChunk, following: PlayerChunk | undefined): number {
    const { pcm } = chunk
    const whole = Math.floor(index)
    const here = pcm[whole] ?? 0
    const next = pcm[whole + 1] ?? following?.pcm[0] ?? here
    return (here + (next - here) * (index - whole)) / 32_768
  }

  /** Called before the current audio is removed. */
  function fadeOut() {
    const [chunk] = chunks
    if (isPaused || !chunk || fadedIn === 0) return
    const length = Math.min(fadeSamples, Math.floor((chunk.pcm.length - at) / step))
    tail = Float32Array.from(
      { length },
      (_, index) => sampleAt(at + index * step, chunk, undefined) * (1 - index / length),
    )
  }

  function advance() {
    at += step
    const [chunk] = chunks
    if (!chunk) return
    clip = chunk.clip
    if (at < chunk.pcm.length) {
      position = chunk.position + Math.floor(at)
      return
    }
    position = chunk.position + chunk.pcm.length
    at -= chunk.pcm.length
    chunks.shift()
    // The rest of a step is dropped if there is no next chunk.
    if (chunks.length === 0) at = 0
  }

  return {
    push(chunk) {
      if (chunk.pcm.length > 0) chunks.push(chunk)
    },

    drop(droppedClip, from) {
      const [first] = chunks
      const isCut = first?.clip === droppedClip && first.position + at >= from
      if (isCut) fadeOut()
      chunks = chunks.flatMap((chunk) => {
        if (chunk.clip !== droppedClip) return [chunk]
        const pcm = chunk.pcm.subarray(0, Math.max(0, from - chunk.position))
        return pcm.length > (chunk === first ? at : 0) ? [{ ...chunk, pcm }] : []
      })
      if (isCut) {
        at = 0
        fadedIn = 0
      }
      return played()
    },

    pause() {
      fadeOut()
      isPaused = true
      fadedIn = 0
      return played()
    },

    resume() {
      isPaused = false
    },

    fill(out) {
      for (let index = 0; index < out.length; index++) {
        const [chunk, following] = chunks
        if (isPaused || !chunk) {
          fadedIn = 0
          break
        }
        fadedIn = Math.min(fadeSamples, fadedIn + 1)
        out[index] = sampleAt(at, chunk, following) * (fadedIn / fadeSamples)
        advance()
      }
      if (tail.length === 0) return
      const end = tail.subarray(0, out.length)
      for (let index = 0; index < end.length; index++) out[index] = (out[index] ?? 0) + (end[index] ?? 0)
      tail = tail.subarray(end.length)
    },

    played,
  }
}
