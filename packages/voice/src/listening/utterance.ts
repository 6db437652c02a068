import { quietestPoint } from './quietest-point.ts'
import type { Transcription, TranscriptionQueue } from './transcription-queue.ts'
import { listeningSampleRate } from './voice-activity.ts'

/** The audio of the current utterance and its transcription. */
export interface Utterance {
  /**
   * Buffers a frame before speech is detected. Only the last ones are kept, since a word starts
   * before its detection.
   */
  preroll(frame: Int16Array): void
  push(frame: Int16Array): void
  /** The utterance may have ended: starts transcribing it. */
  draft(): void
  /** The utterance continues: drops the draft. */
  resume(): void
  /** Ends the utterance without its last `silent` frames. Does not reject. */
  end(silent: number): Promise<Transcribed>
  /** Concurrent calls share one transcription. */
  partialTranscript(): Promise<string>
}

interface Transcribed {
  readonly text: string
  /** Failures of single pieces. */
  readonly errors: readonly unknown[]
}

export interface UtteranceOptions {
  readonly queue: TranscriptionQueue
  /** A longer utterance is transcribed in pieces, to bound the audio that is kept. */
  readonly maxMs: number
  /** How many frames before it belong to it. */
  readonly prerollFrames: number
}

/** A long utterance is cut somewhere after this share of its length. */
const earliestCut = 0.6

export function utterance({ queue, maxMs, prerollFrames }: UtteranceOptions): Utterance {
  const maxSamples = (maxMs / 1000) * listeningSampleRate
  let frames: Int16Array[] = []
  let samples = 0
  let pieces: Transcription[] = []
  let currentDraft: Transcription | undefined
  let pendingPartial: Promise<string> | undefined

  function setFrames(kept: Int16Array[]) {
    frames = kept
    samples = kept.reduce((sum, { length }) => sum + length, 0)
  }

  function add(frame: Int16Array) {
    frames.push(frame)
    samples += frame.length
  }

  function cut() {
    const pcm = concat(frames)
    const at = quietestPoint(pcm, Math.floor(pcm.length * earliestCut), pcm.length)
    pieces.push(queue.add(pcm.subarray(0, at)))
    setFrames([pcm.slice(at)])
  }

  async function transcribePartial(): Promise<string> {
    const before = pieces
    const rest = currentDraft?.outcome ?? queue.transcribeNow(concat(frames))
    const { text } = combine([...(await Promise.all(before.map(({ outcome }) => outcome))), await rest])
    return text
  }

  return {
    preroll(frame) {
      setFrames([...frames, frame].slice(-prerollFrames))
    },
    push(frame) {
      add(frame)
      if (samples > maxSamples && !currentDraft) cut()
    },
    draft() {
      currentDraft = queue.add(concat(frames))
    },
    resume() {
      currentDraft?.drop()
      currentDraft = undefined
    },
    async end(silent) {
      const silence = frames.slice(frames.length - silent)
      const spoken = frames.slice(0, frames.length - silent)
      const all = [...pieces, currentDraft ?? queue.add(concat(spoken))]
      pieces = []
      currentDraft = undefined
      pendingPartial = undefined
      setFrames(silence.slice(-prerollFrames))
      return combine(await Promise.all(all.map(({ outcome }) => outcome)))
    },
    partialTranscript() {
      const request = (pendingPartial ?? transcribePartial()).finally(() => {
        if (pendingPartial === request) pendingPartial = undefined
      })
      pendingPartial = request
      return request
    },
  }
}

function combine(outcomes: readonly Awaited<Transcription['outcome']>[]): Transcribed {
  const texts = outcomes.flatMap((one) => (one.ok && one.value ? [one.value] : []))
  const errors = outcomes.flatMap((one) => (one.ok ? [] : [one.error]))
  return { text: texts.join(' '), errors }
}

function concat(frames: readonly Int16Array[]): Int16Array {
  const pcm = new Int16Array(frames.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const frame of frames) {
    pcm.set(frame, at)
    at += frame.length
  }
  return pcm
}
