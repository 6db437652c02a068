import type { Clock } from 'millrace'
import { MillraceError } from 'millrace'
import { writeAudioFrame } from 'millrace/internal'
import type { VoiceOutlet } from 'millrace/server'
import { resampler } from '../resample.ts'
import type { Speech, SynthesizeOptions } from '../speech.ts'
import { readChunks } from './chunks.ts'
import type { Playhead } from './playhead.ts'
import { playhead as startPlayhead } from './playhead.ts'
import type { Segment, Utterance } from './segment.ts'

export interface SpeakerOptions extends Omit<SynthesizeOptions, 'signal'> {
  readonly speech: Speech
  readonly outlet: VoiceOutlet
  readonly turn: number
  readonly sampleRate: number
  /** Synthesis pauses while this much unplayed audio is ready. */
  readonly lookAhead: { readonly sentences: number; readonly ms: number }
  readonly speechTimeoutMs: number
  readonly clock: Clock
  /** Returns the number of the next frame on this socket. */
  readonly nextSeq: () => number
  /** Speaking starts when this resolves, at the end of the previous turn. */
  readonly after: Promise<void>
  readonly onFailed: (error: unknown, text: string) => void
}

/** Speaks one turn, sentence by sentence. `say` never blocks. */
export interface Speaker {
  say(utterance: Utterance): void
  /** Drops the utterances of a retracted round that were not played. */
  retract(round: number): void
  /** Marks the end of the turn: no more utterances follow. */
  end(): void
  /** Stops speaking. */
  silence(): void
  /** Reports the client's position. Without one, the playhead is checked again. */
  played(position?: number): void
  readonly playhead: Playhead
  readonly segments: readonly Segment[]
  /** Utterances that were not started when it was silenced. */
  readonly unspoken: readonly Utterance[]
  readonly samples: number
  /** Times before the end when there was nothing to play. */
  readonly gaps: readonly Gap[]
  readonly firstAudioAt: number | undefined
  /** Nothing is being synthesized or waiting. */
  readonly isIdle: boolean
  /** Resolves when everything was played, or after `silence`. Never rejects. */
  readonly done: Promise<void>
}

interface Gap {
  readonly position: number
  readonly ms: number
  readonly for: 'model' | 'tool' | 'voice'
}

/** Audio is sent in frames of this length, so that other frames are not held up. */
const frameMs = 200
/** How often the position of a client that does not report is estimated. */
const pollMs = 100

export function speaker(options: SpeakerOptions): Speaker {
  const { speech, outlet, turn, sampleRate, lookAhead, speechTimeoutMs, clock, nextSeq, onFailed } = options
  const playhead = startPlayhead({ sampleRate, clock })
  const waiting: (Utterance & { readonly since: number })[] = []
  const segments: Segment[] = []
  let unspoken: readonly Utterance[] = []
  const gaps: Gap[] = []
  let samples = 0
  let isEnded = false
  let isSilenced = false
  let firstAudioAt: number | undefined
  /** The utterance being synthesized. */
  let current: { readonly abort: AbortController; readonly utterance: Utterance } | undefined
  let changed = Promise.withResolvers<void>()

  function notify() {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  /** Waits until the condition holds or the turn is silenced. */
  async function waitUntil(condition: () => boolean) {
    while (!isSilenced && !condition()) {
      // A client that reports its position wakes this up. For others, the position is polled.
      const cancel = playhead.isEstimated ? clock.after(pollMs, notify) : () => {}
      await changed.promise
      cancel()
    }
  }

  const aheadMs = () => (playhead.ahead / sampleRate) * 1000
  /** The number of started sentences that are not playing yet. */
  function sentencesAhead(): number {
    const { position } = playhead
    let count = 0
    for (let at = segments.length - 1; at >= 0; at--) {
      const segment = segments[at] as Segment
      if (segment.position < position) break
      if (segment.samples > 0 && !segment.isRetracted) count++
    }
    return count
  }
  const hasRoom = () => aheadMs() < lookAhead.ms
  const mayStart = () => hasRoom() && sentencesAhead() < lookAhead.sentences

  async function speakAll() {
    await options.after
    for (;;) {
      await waitUntil(() => waiting.length > 0 || isEnded)
      await waitUntil(mayStart)
      const utterance = waiting.shift()
      if (isSilenced || (!utterance && isEnded)) break
      if (utterance) await speakOne(utterance)
    }
    if (isSilenced) return
    outlet.send({ type: 'voice_end', turn, samples })
    // Rounding in a client may hide the last sample.
    await waitUntil(() => aheadMs() < 1)
  }

  async function speakOne(utterance: Utterance & { readonly since: number }) {
    const { speech: text } = utterance.sentence
    const segment = addSegment(utterance)
    if (!text) {
      segment.isDone = true
      return
    }
    const abort = new AbortController()
    current = { abort, utterance }
    try {
      await synthesize(segment, abort, utterance.since)
    } catch (error) {
      segment.hasFailed = true
      if (!isSilenced && !segment.isRetracted) onFailed(error, text)
    }
    current = undefined
    // If it was silenced, its audio is incomplete.
    segment.isDone = !isSilenced
    notify()
  }

  function addSegment(utterance: Utterance): Segment {
    const segment: Segment = {
      ...utterance,
      position: samples,
      samples: 0,
      isDone: false,
      hasFailed: false,
      isRetracted: false,
      words: [],
    }
    segments.push(segment)
    return segment
  }

  async function synthesize(segment: Segment, abort: AbortController, since: number) {
    const { voice, language } = options
    const { speech: text } = segment.sentence
    const spoken = speech.synthesize(text, { signal: abort.signal, voice, language })
    let converter: ReturnType<typeof resampler> | undefined
    let rate = 0
    for await (const chunk of readChunks(spoken, { abort, timeoutMs: speechTimeoutMs, clock })) {
      if (converter && chunk.sampleRate !== rate)
        throw new TypeError(
          `synthesize() must not change the sample rate within a text: ${rate}, then ${chunk.sampleRate}`,
        )
      rate = chunk.sampleRate
      converter ??= resampler(rate, sampleRate)
      if (chunk.words) segment.words.push(...chunk.words)
      send(segment, converter.push(chunk.pcm), since)
      await waitUntil(() => hasRoom() || abort.signal.aborted)
      await outlet.drained()
      if (abort.signal.aborted) return
    }
    if (converter) send(segment, converter.flush(), since)
    if (segment.samples === 0 && /[\p{L}\p{N}]/u.test(text)) throw noSound()
  }

  function send(segment: Segment, pcm: Int16Array, since: number) {
    if (pcm.length === 0 || isSilenced || segment.isRetracted) return
    if (segment.samples === 0) sendSentence(segment)
    recordGap(segment, since)
    firstAudioAt ??= clock.now()
    const step = Math.ceil((frameMs / 1000) * sampleRate)
    for (let at = 0; at < pcm.length; at += step) {
      const piece = pcm.subarray(at, at + step)
      outlet.sendAudio(
        writeAudioFrame({ kind: 'speech', turn, seq: nextSeq(), position: samples, pcm: piece }),
      )
      playhead.sent(samples, piece.length)
      segment.samples += piece.length
      samples += piece.length
    }
  }

  function sendSentence({ textPosition, sentence, position }: Segment) {
    const { speech: text, source } = sentence
    const textRange = textPosition && {
      round: textPosition.round,
      start: textPosition.start,
      chars: source.length,
    }
    outlet.send({ type: 'voice_sentence', turn, position, text, ...textRange })
  }

  /**
   * If the utterance was already waiting when the audio ran out, the synthesizer caused the gap.
   */
  function recordGap({ waitedFor }: Segment, since: number) {
    const { emptySince } = playhead
    if (emptySince === undefined) return
    const ms = clock.now() - emptySince
    if (ms >= 1)
      gaps.push({ position: samples, ms: Math.round(ms), for: since <= emptySince ? 'voice' : waitedFor })
  }

  function retract(round: number) {
    const ofRound = ({ textPosition }: Utterance) => textPosition?.round === round
    for (let at = waiting.length - 1; at >= 0; at--)
      if (ofRound(waiting[at] as Utterance)) waiting.splice(at, 1)
    const retracted = segments.filter((segment) => ofRound(segment) && !segment.isRetracted)
    const [first] = retracted
    if (!first) return
    for (const segment of retracted) segment.isRetracted = true
    if (current && ofRound(current.utterance)) current.abort.abort()
    playhead.dropped(first.position)
    outlet.send({ type: 'voice_retract', turn, position: first.position })
    notify()
  }

  const done = speakAll()
  return {
    say(utterance) {
      waiting.push({ ...utterance, since: clock.now() })
      notify()
    },
    retract,
    end() {
      isEnded = true
      notify()
    },
    silence() {
      isSilenced = true
      current?.abort.abort()
      unspoken = [...unspoken, ...waiting.splice(0)]
      notify()
    },
    played(position) {
      if (position !== undefined) playhead.reported(position)
      notify()
    },
    playhead,
    segments,
    get unspoken() {
      return unspoken
    },
    get samples() {
      return samples
    },
    gaps,
    get firstAudioAt() {
      return firstAudioAt
    },
    get isIdle() {
      return waiting.length === 0 && !current
    },
    done,
  }
}

function noSound(): MillraceError {
  const message = 'the synthesizer produced no audio for this text: it may not support the language'
  return new MillraceError({ op: 'speech.synthesize', code: 'invalid_input', message })
}
