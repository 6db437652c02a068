import { frameMs } from './voice-activity.ts'

/** The role of a frame. At `start` speech is certain; at `end` the silence has been long enough. */
type FrameRole = 'idle' | 'maybe' | 'start' | 'voice' | 'quiet' | 'end'

export interface Endpoint {
  /** Takes the speech probability of the next frame. */
  push(probability: number): FrameRole
  /** From the first frame of the utterance to its last voiced one. */
  readonly voiceMs: number
  /** The number of frames since the last voiced one. */
  readonly quietFrames: number
}

export interface EndpointOptions {
  /**
   * Speech starts at `threshold` and continues down to `hold`, since the end of a word is faint.
   */
  readonly threshold: number
  readonly hold: number
  /** Shorter sounds are ignored. */
  readonly startMs: number
  /** Silence that ends an utterance, and the length at which it ends without silence. */
  readonly silenceMs: number
  readonly maxMs: number
}

/**
 * A possible start is dropped after more quiet frames than this. Gaps within a word are shorter.
 */
const maxGapFrames = 3

/**
 * Finds where utterances start and end. It counts frames only, so the chunking of the audio does
 * not matter.
 */
export function endpoint({ threshold, hold, startMs, silenceMs, maxMs }: EndpointOptions): Endpoint {
  const minVoiced = Math.ceil(startMs / frameMs)
  const maxQuiet = Math.ceil(silenceMs / frameMs)
  const maxLength = Math.ceil(maxMs / frameMs)
  let state: 'idle' | 'maybe' | 'speaking' = 'idle'
  let voiced = 0
  let length = 0
  let quiet = 0

  function push(probability: number): FrameRole {
    if (state === 'idle') {
      if (!(probability >= threshold)) return 'idle'
      state = 'maybe'
      voiced = 0
      length = 0
    }
    length++
    const isVoice = probability >= hold
    quiet = isVoice ? 0 : quiet + 1
    if (isVoice) voiced++
    if (state === 'speaking') {
      if (quiet < maxQuiet && length < maxLength) return isVoice ? 'voice' : 'quiet'
      state = 'idle'
      return 'end'
    }
    if (voiced >= minVoiced) {
      state = 'speaking'
      return 'start'
    }
    if (quiet > maxGapFrames) state = 'idle'
    return state
  }

  return {
    push,
    get voiceMs() {
      return (length - quiet) * frameMs
    },
    get quietFrames() {
      return quiet
    },
  }
}
