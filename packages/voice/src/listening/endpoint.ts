import { frameMs } from './voice-activity.ts'

/** What a frame is part of. `begin` is where it is certain that somebody speaks, and `end` where they have been quiet long enough. */
type FrameRole = 'idle' | 'maybe' | 'begin' | 'voice' | 'quiet' | 'end'

export interface Endpoint {
  /** Takes the next frame's probability of speech. */
  push(probability: number): FrameRole
  /** From the first frame of the utterance to its last with a voice in it. */
  readonly voiceMs: number
  /** How many frames there have been since that one. */
  readonly quietFrames: number
}

export interface EndpointOptions {
  /** From here on it is speech; and speech that has begun goes on down to `hold`, since the end of a word is faint. */
  readonly threshold: number
  readonly hold: number
  /** A voice for less than this is none. */
  readonly startMs: number
  /** So long a silence ends it, and so long an utterance ends by itself. */
  readonly silenceMs: number
  readonly longestMs: number
}

/** A voice that has hardly begun and is gone for this long was none: the gap inside a word is shorter. */
const longestGap = 3

/** Finds where utterances begin and end. It counts frames only, so that how the sound was cut does not matter. */
export function endpoint({ threshold, hold, startMs, silenceMs, longestMs }: EndpointOptions): Endpoint {
  const leastVoiced = Math.ceil(startMs / frameMs)
  const mostQuiet = Math.ceil(silenceMs / frameMs)
  const longest = Math.ceil(longestMs / frameMs)
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
      if (quiet < mostQuiet && length < longest) return isVoice ? 'voice' : 'quiet'
      state = 'idle'
      return 'end'
    }
    if (voiced >= leastVoiced) {
      state = 'speaking'
      return 'begin'
    }
    if (quiet > longestGap) state = 'idle'
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
