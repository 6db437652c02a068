import type { Clock } from 'millrace'
import type { ListeningEvent, ListeningOptions, ListeningSession } from '../listener.ts'
import { endpoint } from './endpoint.ts'
import { frameFeed } from './frame-feed.ts'
import type { Transcriber } from './transcriber.ts'
import { transcriptionQueue } from './transcription-queue.ts'
import { utterance } from './utterance.ts'
import { frameMs, type VoiceActivity } from './voice-activity.ts'

export interface ListeningSessionOptions extends ListeningOptions {
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

/**
 * Audio kept before the first and after the last voiced frame, since words start and end faintly.
 */
const prerollFrames = Math.ceil(300 / frameMs)
const trailingFrames = Math.ceil(200 / frameMs)
/** `speech` is emitted again after this many frames. */
const speechEventFrames = 3
/** Speech that has started continues down to this much below the threshold. */
const hysteresis = 0.15
/** An utterance without a pause is ended after this many times `maxMs`. */
const maxPieces = 20

/**
 * One microphone. Frames are classified in order, and the speech between two silences is
 * transcribed.
 */
export function listeningSession(options: ListeningSessionOptions): ListeningSession {
  const { vad, transcriber, language, threshold, startMs, silenceMs, maxMs, eager, timeoutMs, clock } =
    options
  const queue = transcriptionQueue({
    transcriber,
    language,
    loading: load(transcriber),
    timeoutMs,
    clock,
  })
  const current = utterance({ queue, maxMs, prerollFrames })
  const endpointer = endpoint({
    threshold,
    hold: Math.max(threshold - hysteresis, threshold / 2),
    startMs,
    silenceMs,
    maxMs: maxMs * maxPieces,
  })
  const tailFrames = Math.min(trailingFrames, Math.ceil(silenceMs / frameMs))
  let isSpeaking = false
  let framesSinceEvent = 0
  let isClosed = false
  let delivered: Promise<void> = Promise.resolve()

  const emit = (event: ListeningEvent) => {
    if (!isClosed) options.onEvent(event)
  }

  function handleFrame(frame: Int16Array, probability: number, atMs: number) {
    const role = endpointer.push(probability)
    if (role === 'idle') return current.preroll(frame)
    current.push(frame)
    const ms = endpointer.voiceMs
    if (role === 'start' || role === 'voice') {
      isSpeaking = true
      current.resume()
      framesSinceEvent = role === 'start' ? speechEventFrames : framesSinceEvent + 1
      if (framesSinceEvent >= speechEventFrames) {
        framesSinceEvent = 0
        emit({ type: 'speech', atMs, ms })
      }
    }
    if (eager && role === 'quiet' && endpointer.quietFrames === tailFrames) current.draft()
    if (role === 'end') {
      isSpeaking = false
      emit({ type: 'silence', atMs, ms })
      transcribe(ms)
    }
  }

  /** Emits transcripts in the order of their utterances, whichever finishes first. */
  function transcribe(ms: number) {
    const transcribed = current.end(Math.max(0, endpointer.quietFrames - tailFrames))
    delivered = delivered.then(async () => {
      const { text, errors } = await transcribed
      for (const error of errors) emit({ type: 'failed', error })
      emit({ type: 'transcript', text, ms })
    })
  }

  const feed = frameFeed({
    detector: vad.open(),
    loading: load(vad),
    sampleRate: options.sampleRate,
    timeoutMs,
    clock,
    onFrame: handleFrame,
    onFailure: (error) => emit({ type: 'failed', error }),
  })

  return {
    push: feed.push,
    partialTranscript: async () => (isSpeaking && !isClosed ? current.partialTranscript() : ''),
    close() {
      isClosed = true
      feed.close()
      queue.close()
    },
  }
}

/** Load errors surface on first use. */
async function load(part: VoiceActivity | Transcriber): Promise<void> {
  try {
    await part.ready?.()
  } catch {}
}
