import { quietPlace } from './quiet-place.ts'
import type { Transcription, Transcriptions } from './transcriptions.ts'
import { heardRate } from './voice-activity.ts'

/** The sound of what is being said, and what has been understood of it. */
export interface Utterance {
  /** Nobody speaks: only the last frames are kept, since the first sound of a word comes before it is known to be one. */
  wait(frame: Int16Array): void
  push(frame: Int16Array): void
  /** It may be over: begins to write it down. */
  draft(): void
  /** It was not. */
  goOn(): void
  /** It is over, and the last `silent` frames are no part of it. Does not reject. */
  end(silent: number): Promise<Understood>
  /** Asked again before it has answered, it gives that answer. */
  soFar(): Promise<string>
}

interface Understood {
  readonly text: string
  /** What was not understood, and why. */
  readonly errors: readonly unknown[]
}

export interface UtteranceOptions {
  readonly words: Transcriptions
  /** One that is longer is written down in pieces, so that only so much sound is kept. */
  readonly maxMs: number
  /** So many frames before it belong to it. */
  readonly beforeFrames: number
}

/** Where a long one is cut: somewhere in this last part of it. */
const cutFrom = 0.6

export function utterance({ words, maxMs, beforeFrames }: UtteranceOptions): Utterance {
  const mostSamples = (maxMs / 1000) * heardRate
  let frames: Int16Array[] = []
  let samples = 0
  let pieces: Transcription[] = []
  let drafted: Transcription | undefined
  let asked: Promise<string> | undefined

  function keep(kept: Int16Array[]) {
    frames = kept
    samples = kept.reduce((sum, { length }) => sum + length, 0)
  }

  function add(frame: Int16Array) {
    frames.push(frame)
    samples += frame.length
  }

  function cut() {
    const pcm = joined(frames)
    const at = quietPlace(pcm, Math.floor(pcm.length * cutFrom), pcm.length)
    pieces.push(words.add(pcm.subarray(0, at)))
    keep([pcm.slice(at)])
  }

  async function soFar(): Promise<string> {
    const before = pieces
    const rest = drafted?.outcome ?? words.now(joined(frames))
    const { text } = understood([...(await Promise.all(before.map(({ outcome }) => outcome))), await rest])
    return text
  }

  return {
    wait(frame) {
      keep([...frames, frame].slice(-beforeFrames))
    },
    push(frame) {
      add(frame)
      if (samples > mostSamples && !drafted) cut()
    },
    draft() {
      drafted = words.add(joined(frames))
    },
    goOn() {
      drafted?.drop()
      drafted = undefined
    },
    async end(silent) {
      const silence = frames.slice(frames.length - silent)
      const spoken = frames.slice(0, frames.length - silent)
      const all = [...pieces, drafted ?? words.add(joined(spoken))]
      pieces = []
      drafted = undefined
      asked = undefined
      keep(silence.slice(-beforeFrames))
      return understood(await Promise.all(all.map(({ outcome }) => outcome)))
    },
    soFar() {
      const asking = (asked ?? soFar()).finally(() => {
        if (asked === asking) asked = undefined
      })
      asked = asking
      return asking
    },
  }
}

function understood(outcomes: readonly Awaited<Transcription['outcome']>[]): Understood {
  const texts = outcomes.flatMap((one) => (one.ok && one.value ? [one.value] : []))
  const errors = outcomes.flatMap((one) => (one.ok ? [] : [one.error]))
  return { text: texts.join(' '), errors }
}

function joined(frames: readonly Int16Array[]): Int16Array {
  const pcm = new Int16Array(frames.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const frame of frames) {
    pcm.set(frame, at)
    at += frame.length
  }
  return pcm
}
