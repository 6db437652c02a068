import type { Played, PlayerChunk } from './player.ts'

/** Audio that waits to be played, on the thread that plays it. */
export interface PlayQueue {
  push(chunk: PlayerChunk): void
  drop(clip: number, position: number): Played
  pause(): Played
  resume(): void
  /** Writes the next samples; the rest stays as it is, which is silence. */
  fill(out: Float32Array): void
  /** How far it is. */
  played(): Played
}

export interface PlayQueueOptions {
  /** Of what is pushed. */
  readonly sampleRate: number
  /** Of what is filled. */
  readonly outputRate: number
}

/** What is cut off fades for so long, or it would click. It is not counted as played. */
const fadeMs = 4

export function playQueue({ sampleRate, outputRate }: PlayQueueOptions): PlayQueue {
  /** So far in the audio for each sample that goes out. */
  const step = sampleRate / outputRate
  const fadeSamples = Math.round((outputRate * fadeMs) / 1000)
  let chunks: PlayerChunk[] = []
  /** The place in the first chunk that is next; between two samples where the rates differ. */
  let at = 0
  let clip = 0
  let position = 0
  let isPaused = false
  /** How much of the beginning has faded in. */
  let risen = 0
  /** The end of what was cut off. */
  let tail: Float32Array = new Float32Array(0)

  function played(): Played {
    return { clip, position, idle: chunks.length === 0 }
  }

  /** Linear between the two samples around it. */
  function sampleAt(index: number, chunk: PlayerChunk, following: PlayerChunk | undefined): number {
    const { pcm } = chunk
    const whole = Math.floor(index)
    const here = pcm[whole] ?? 0
    const next = pcm[whole + 1] ?? following?.pcm[0] ?? here
    return (here + (next - here) * (index - whole)) / 32_768
  }

  /** Called before what is being played is taken away. */
  function fadeOut() {
    const [chunk] = chunks
    if (isPaused || !chunk || risen === 0) return
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
    // What is left of a step is of no use before there is more.
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
        risen = 0
      }
      return played()
    },

    pause() {
      fadeOut()
      isPaused = true
      risen = 0
      return played()
    },

    resume() {
      isPaused = false
    },

    fill(out) {
      for (let index = 0; index < out.length; index++) {
        const [chunk, following] = chunks
        if (isPaused || !chunk) {
          risen = 0
          break
        }
        risen = Math.min(fadeSamples, risen + 1)
        out[index] = sampleAt(at, chunk, following) * (risen / fadeSamples)
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
