import type { Clock } from 'millrace'
import { MillraceError } from 'millrace'
import { writeAudioFrame } from 'millrace/internal'
import type { VoiceOutlet } from 'millrace/server'
import { resampler } from '../resample.ts'
import type { Speech, SynthesizeOptions } from '../speech.ts'
import { chunksOf } from './chunks.ts'
import type { Playhead } from './playhead.ts'
import { playhead as startPlayhead } from './playhead.ts'
import type { Segment, Utterance } from './segment.ts'

/** The way to one client. */
export interface SpeakerOptions extends Omit<SynthesizeOptions, 'signal'> {
  readonly speech: Speech
  readonly outlet: VoiceOutlet
  readonly turn: number
  readonly sampleRate: number
  /** Nothing more is made while so much is there that has not been played. */
  readonly lookAhead: { readonly sentences: number; readonly ms: number }
  readonly patienceMs: number
  readonly clock: Clock
  /** The number of the next frame on this socket. */
  readonly nextSeq: () => number
  /** It begins when this resolves: when the turn before it is over. */
  readonly after: Promise<void>
  readonly onFailed: (error: unknown, text: string) => void
}

/** Says one turn, sentence after sentence. Whoever gives it sentences never waits for it. */
export interface Speaker {
  say(utterance: Utterance): void
  /** Forgets what was given of a round: it was retracted. What has been played stays. */
  retract(round: number): void
  /** Nothing more will be given. */
  end(): void
  /** Says nothing more. */
  silence(): void
  /** The client has played this much, or what it has played has to be looked at again. */
  played(position?: number): void
  readonly playhead: Playhead
  readonly segments: readonly Segment[]
  /** What was given, and not begun when it was silenced. */
  readonly unsaid: readonly Utterance[]
  readonly samples: number
  /** When there was nothing to play before the end. */
  readonly gaps: readonly Gap[]
  readonly firstAudioAt: number | undefined
  /** Nothing is being made and nothing waits to be. */
  readonly isIdle: boolean
  /** Resolves when all of it has been played, or it was silenced. Never rejects. */
  readonly done: Promise<void>
}

interface Gap {
  readonly position: number
  readonly ms: number
  readonly for: 'model' | 'tool' | 'voice'
}

/** Audio goes out in pieces of this length, so that other frames get between them. */
const frameMs = 200
/** So often it is looked where a client must be that does not say. */
const guessMs = 100

export function speaker(options: SpeakerOptions): Speaker {
  const { speech, outlet, turn, sampleRate, lookAhead, patienceMs, clock, nextSeq, onFailed } = options
  const playhead = startPlayhead({ sampleRate, clock })
  const waiting: (Utterance & { readonly since: number })[] = []
  const segments: Segment[] = []
  let unsaid: readonly Utterance[] = []
  const gaps: Gap[] = []
  let samples = 0
  let isEnded = false
  let isSilenced = false
  let firstAudioAt: number | undefined
  /** Of the sentence that is being made. */
  let making: { readonly abort: AbortController; readonly utterance: Utterance } | undefined
  let bell = Promise.withResolvers<void>()

  function ring() {
    bell.resolve()
    bell = Promise.withResolvers()
  }

  /** Until it holds, or the turn is silenced. */
  async function until(holds: () => boolean) {
    while (!isSilenced && !holds()) {
      // A client that reports rings the bell; where another is, only the clock knows.
      const cancel = playhead.isGuessed ? clock.after(guessMs, ring) : () => {}
      await bell.promise
      cancel()
    }
  }

  const aheadMs = () => (playhead.ahead / sampleRate) * 1000
  /** Those that have been begun, and nobody has heard the beginning of. */
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
  const mayBegin = () => hasRoom() && sentencesAhead() < lookAhead.sentences

  async function speakAll() {
    await options.after
    for (;;) {
      await until(() => waiting.length > 0 || isEnded)
      await until(mayBegin)
      const utterance = waiting.shift()
      if (isSilenced || (!utterance && isEnded)) break
      if (utterance) await speakOne(utterance)
    }
    if (isSilenced) return
    outlet.tell({ type: 'voice_end', turn, samples })
    // Whoever counts in floating point may miss the last sample.
    await until(() => aheadMs() < 1)
  }

  async function speakOne(utterance: Utterance & { readonly since: number }) {
    const { speech: text } = utterance.sentence
    const segment = begin(utterance)
    if (!text) {
      segment.isDone = true
      return
    }
    const abort = new AbortController()
    making = { abort, utterance }
    try {
      await make(segment, abort, utterance.since)
    } catch (error) {
      segment.hasFailed = true
      if (!isSilenced && !segment.isRetracted) onFailed(error, text)
    }
    making = undefined
    // One that was silenced in the middle has more to say than was made of it.
    segment.isDone = !isSilenced
    ring()
  }

  function begin(utterance: Utterance): Segment {
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

  async function make(segment: Segment, abort: AbortController, since: number) {
    const { voice, language } = options
    const { speech: text } = segment.sentence
    const spoken = speech.synthesize(text, { signal: abort.signal, voice, language })
    let converter: ReturnType<typeof resampler> | undefined
    let rate = 0
    for await (const chunk of chunksOf(spoken, { abort, patienceMs, clock })) {
      if (converter && chunk.sampleRate !== rate)
        throw new TypeError(
          `a voice must keep its sample rate within a text: ${rate}, then ${chunk.sampleRate}`,
        )
      rate = chunk.sampleRate
      converter ??= resampler(rate, sampleRate)
      if (chunk.words) segment.words.push(...chunk.words)
      send(segment, converter.push(chunk.pcm), since)
      await until(() => hasRoom() || abort.signal.aborted)
      await outlet.room()
      if (abort.signal.aborted) return
    }
    if (converter) send(segment, converter.flush(), since)
    if (segment.samples === 0 && /[\p{L}\p{N}]/u.test(text)) throw silent()
  }

  function send(segment: Segment, pcm: Int16Array, since: number) {
    if (pcm.length === 0 || isSilenced || segment.isRetracted) return
    if (segment.samples === 0) tellSentence(segment)
    noteGap(segment, since)
    firstAudioAt ??= clock.now()
    const step = Math.ceil((frameMs / 1000) * sampleRate)
    for (let at = 0; at < pcm.length; at += step) {
      const piece = pcm.subarray(at, at + step)
      outlet.audio(writeAudioFrame({ kind: 'speech', turn, seq: nextSeq(), position: samples, pcm: piece }))
      playhead.sent(samples, piece.length)
      segment.samples += piece.length
      samples += piece.length
    }
  }

  function tellSentence({ place, sentence, position }: Segment) {
    const { speech: text, source } = sentence
    const among = place && { round: place.round, start: place.start, chars: source.length }
    outlet.tell({ type: 'voice_sentence', turn, position, text, ...among })
  }

  /** What was there to be said when playing stopped was waited for because of the voice. */
  function noteGap({ waitedFor }: Segment, since: number) {
    const { drySince } = playhead
    if (drySince === undefined) return
    const ms = clock.now() - drySince
    if (ms >= 1)
      gaps.push({ position: samples, ms: Math.round(ms), for: since <= drySince ? 'voice' : waitedFor })
  }

  /** Of the round, and not begun to be played. */
  function retract(round: number) {
    const ofRound = ({ place }: Utterance) => place?.round === round
    for (let at = waiting.length - 1; at >= 0; at--)
      if (ofRound(waiting[at] as Utterance)) waiting.splice(at, 1)
    const retracted = segments.filter((segment) => ofRound(segment) && !segment.isRetracted)
    const [first] = retracted
    if (!first) return
    for (const segment of retracted) segment.isRetracted = true
    if (making && ofRound(making.utterance)) making.abort.abort()
    playhead.dropped(first.position)
    outlet.tell({ type: 'voice_retract', turn, position: first.position })
    ring()
  }

  const done = speakAll()
  return {
    say(utterance) {
      waiting.push({ ...utterance, since: clock.now() })
      ring()
    },
    retract,
    end() {
      isEnded = true
      ring()
    },
    silence() {
      isSilenced = true
      making?.abort.abort()
      unsaid = [...unsaid, ...waiting.splice(0)]
      ring()
    },
    played(position) {
      if (position !== undefined) playhead.reported(position)
      ring()
    },
    playhead,
    segments,
    get unsaid() {
      return unsaid
    },
    get samples() {
      return samples
    },
    gaps,
    get firstAudioAt() {
      return firstAudioAt
    },
    get isIdle() {
      return waiting.length === 0 && !making
    },
    done,
  }
}

/** Words that made no sound were not heard. */
function silent(): MillraceError {
  const message = 'the voice gave no sound for this: it may not speak the language'
  return new MillraceError({ op: 'speech.synthesize', code: 'invalid_input', message })
}
