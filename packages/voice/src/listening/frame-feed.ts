import { type Clock, MillraceError } from 'millrace'
import { resampler } from '../resample.ts'
import { attempt } from './attempt.ts'
import { frameMs, frameSamples, heardRate, type VoiceDetector } from './voice-activity.ts'

export interface FrameFeed {
  /** Any number of samples. */
  push(pcm: Int16Array): void
  close(): void
}

export interface FrameFeedOptions {
  readonly detector: VoiceDetector
  /** Sound is kept until the detector is there, however long that takes. Does not reject. */
  readonly loading: Promise<unknown>
  /** Of what it is given. */
  readonly sampleRate: number
  readonly timeoutMs: number
  readonly clock: Clock
  /** Each frame, in order, with how likely there is speech in it, and how much sound there was up to its end. */
  readonly onFrame: (frame: Int16Array, probability: number, atMs: number) => void
  /** The detector failed, or is too slow. Told once until it works again; meanwhile there is no speech. */
  readonly onFailure: (error: unknown) => void
}

/** Frames that the detector is asked about at once, and frames that may wait for it: one second, and thirty. */
const mostAtOnce = 31
const mostWaiting = 940

/** Makes frames of sound that comes in any pieces and at any rate, and asks the detector about them. */
export function frameFeed(options: FrameFeedOptions): FrameFeed {
  const { detector, loading, sampleRate, timeoutMs, clock, onFrame, onFailure } = options
  const resample = resampler(sampleRate, heardRate)
  const closed = new AbortController()
  let open = new Int16Array(frameSamples)
  let filled = 0
  let waiting: Int16Array[] = []
  let isAsking = false
  let isWell = true
  let counted = 0

  function push(pcm: Int16Array) {
    if (closed.signal.aborted) return
    const sound = resample.push(pcm)
    for (let at = 0; at < sound.length; ) {
      const part = sound.subarray(at, at + frameSamples - filled)
      open.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < frameSamples) break
      waiting.push(open)
      open = new Int16Array(frameSamples)
      filled = 0
    }
    if (waiting.length > mostWaiting) lose(waiting.length - mostWaiting)
    if (!isAsking) void ask()
  }

  function lose(frames: number) {
    waiting = waiting.slice(frames)
    counted += frames
    const message = `the voice detector is slower than the sound: ${Math.round(mostWaiting * frameMs)} ms of it wait`
    fail(new MillraceError({ op: 'listener', code: 'overloaded', message }))
  }

  function fail(error: unknown) {
    if (isWell && !closed.signal.aborted) onFailure(error)
    isWell = false
  }

  async function ask() {
    isAsking = true
    await loading
    while (waiting.length > 0 && !closed.signal.aborted) {
      const frames = waiting.splice(0, mostAtOnce)
      const sound = new Int16Array(frames.length * frameSamples)
      frames.forEach((frame, index) => {
        sound.set(frame, index * frameSamples)
      })
      const { signal } = closed
      const outcome = await attempt(() => detector.detect(sound), {
        clock,
        timeoutMs,
        signal,
        who: 'the voice detector',
      })
      if (outcome.ok) isWell = true
      else fail(outcome.error)
      frames.forEach((frame, index) => {
        counted++
        if (signal.aborted) return
        onFrame(frame, outcome.ok ? (outcome.value[index] ?? 0) : 0, counted * frameMs)
      })
    }
    isAsking = false
  }

  return { push, close: () => closed.abort() }
}
