import { type Clock, MillraceError } from 'millrace'
import { resampler } from '../resample.ts'
import { attempt } from './attempt.ts'
import { frameMs, frameSamples, listeningSampleRate, type VoiceDetector } from './voice-activity.ts'

export interface FrameFeed {
  /** Accepts any number of samples. */
  push(pcm: Int16Array): void
  close(): void
}

export interface FrameFeedOptions {
  readonly detector: VoiceDetector
  /** Audio is buffered until the detector is loaded. Does not reject. */
  readonly loading: Promise<unknown>
  /** The rate of the pushed audio. */
  readonly sampleRate: number
  readonly timeoutMs: number
  readonly clock: Clock
  /**
   * Called for each frame in order, with its speech probability and its end position in the audio.
   */
  readonly onFrame: (frame: Int16Array, probability: number, atMs: number) => void
  /**
   * Called when the detector fails or is too slow: once, until it works again. Frames count as
   * silence in the meantime.
   */
  readonly onFailure: (error: unknown) => void
}

/** The frames passed to the detector at once, and those that may wait for it: 1 and 30 seconds. */
const maxBatch = 31
const maxWaiting = 940

/** Resamples audio, cuts it into frames and runs the detector on them. */
export function frameFeed(options: FrameFeedOptions): FrameFeed {
  const { detector, loading, sampleRate, timeoutMs, clock, onFrame, onFailure } = options
  const resample = resampler(sampleRate, listeningSampleRate)
  const closed = new AbortController()
  let partialFrame = new Int16Array(frameSamples)
  let filled = 0
  let waiting: Int16Array[] = []
  let isDetecting = false
  let isHealthy = true
  let frameCount = 0

  function push(pcm: Int16Array) {
    if (closed.signal.aborted) return
    const audio = resample.push(pcm)
    for (let at = 0; at < audio.length; ) {
      const part = audio.subarray(at, at + frameSamples - filled)
      partialFrame.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < frameSamples) break
      waiting.push(partialFrame)
      partialFrame = new Int16Array(frameSamples)
      filled = 0
    }
    if (waiting.length > maxWaiting) dropFrames(waiting.length - maxWaiting)
    if (!isDetecting) void detectWaiting()
  }

  function dropFrames(frames: number) {
    waiting = waiting.slice(frames)
    frameCount += frames
    const message = `the voice detector is slower than the audio: ${Math.round(maxWaiting * frameMs)} ms are waiting`
    fail(new MillraceError({ op: 'listener', code: 'overloaded', message }))
  }

  function fail(error: unknown) {
    if (isHealthy && !closed.signal.aborted) onFailure(error)
    isHealthy = false
  }

  async function detectWaiting() {
    isDetecting = true
    await loading
    while (waiting.length > 0 && !closed.signal.aborted) {
      const frames = waiting.splice(0, maxBatch)
      const audio = new Int16Array(frames.length * frameSamples)
      frames.forEach((frame, index) => {
        audio.set(frame, index * frameSamples)
      })
      const { signal } = closed
      const outcome = await attempt(() => detector.detect(audio), {
        clock,
        timeoutMs,
        signal,
        subject: 'the voice detector',
      })
      if (outcome.ok) isHealthy = true
      else fail(outcome.error)
      frames.forEach((frame, index) => {
        frameCount++
        if (signal.aborted) return
        onFrame(frame, outcome.ok ? (outcome.value[index] ?? 0) : 0, frameCount * frameMs)
      })
    }
    isDetecting = false
  }

  return { push, close: () => closed.abort() }
}
