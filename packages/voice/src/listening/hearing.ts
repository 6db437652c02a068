import type { Clock } from 'millrace'
import type { Hearing, HearingEvent, ListeningOptions } from '../listener.ts'
import { endpoint } from './endpoint.ts'
import { frameFeed } from './frame-feed.ts'
import type { Transcriber } from './transcriber.ts'
import { transcriptions } from './transcriptions.ts'
import { utterance } from './utterance.ts'
import { frameMs, type VoiceActivity } from './voice-activity.ts'

export interface HearingOptions extends ListeningOptions {
  readonly vad: VoiceActivity
  readonly transcriber: Transcriber
  readonly threshold: number
  readonly startMs: number
  readonly silenceMs: number
  readonly maxMs: number
  readonly eager: boolean
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Of the sound before the first voice and behind the last, so much belongs to the words: they begin and end faintly. */
const beforeFrames = Math.ceil(300 / frameMs)
const behindFrames = Math.ceil(200 / frameMs)
/** `speech` is told again after so many frames. */
const tellFrames = 3
/** Speech that has begun goes on down to this much below the threshold. */
const hysteresis = 0.15
/** Somebody who speaks for so many times `maxMs` without a pause is answered all the same. */
const mostPieces = 20

/** One microphone: its frames are looked at in order, and what was said between two silences is written down behind them. */
export function hearing(options: HearingOptions): Hearing {
  const { vad, transcriber, language, threshold, startMs, silenceMs, maxMs, eager, timeoutMs, clock } =
    options
  const words = transcriptions({
    transcriber,
    language,
    loading: load(transcriber),
    timeoutMs,
    clock,
  })
  const said = utterance({ words, maxMs, beforeFrames })
  const ends = endpoint({
    threshold,
    hold: Math.max(threshold - hysteresis, threshold / 2),
    startMs,
    silenceMs,
    longestMs: maxMs * mostPieces,
  })
  const tailFrames = Math.min(behindFrames, Math.ceil(silenceMs / frameMs))
  let isSpeaking = false
  let untold = 0
  let isClosed = false
  let told: Promise<void> = Promise.resolve()

  const tell = (event: HearingEvent) => {
    if (!isClosed) options.onEvent(event)
  }

  function take(frame: Int16Array, probability: number, atMs: number) {
    const role = ends.push(probability)
    if (role === 'idle') return said.wait(frame)
    said.push(frame)
    const ms = ends.voiceMs
    if (role === 'begin' || role === 'voice') {
      isSpeaking = true
      said.goOn()
      untold = role === 'begin' ? tellFrames : untold + 1
      if (untold >= tellFrames) {
        untold = 0
        tell({ type: 'speech', atMs, ms })
      }
    }
    if (eager && role === 'quiet' && ends.quietFrames === tailFrames) said.draft()
    if (role === 'end') {
      isSpeaking = false
      tell({ type: 'silence', atMs, ms })
      transcribe(ms)
    }
  }

  /** Transcripts are told in the order of their utterances, however each of them ends. */
  function transcribe(ms: number) {
    const understood = said.end(Math.max(0, ends.quietFrames - tailFrames))
    told = told.then(async () => {
      const { text, errors } = await understood
      for (const error of errors) tell({ type: 'failed', error })
      tell({ type: 'transcript', text, ms })
    })
  }

  const feed = frameFeed({
    detector: vad.open(),
    loading: load(vad),
    sampleRate: options.sampleRate,
    timeoutMs,
    clock,
    onFrame: take,
    onFailure: (error) => tell({ type: 'failed', error }),
  })

  return {
    hear: feed.push,
    soFar: async () => (isSpeaking && !isClosed ? said.soFar() : ''),
    close() {
      isClosed = true
      feed.close()
      words.close()
    },
  }
}

/** What is wrong with it is told when it is used. */
async function load(part: VoiceActivity | Transcriber): Promise<void> {
  try {
    await part.ready?.()
  } catch {}
}
