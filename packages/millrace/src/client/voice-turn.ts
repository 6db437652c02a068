import type { VoiceEvent, VoicePlace } from '../protocol/index.ts'
import type { Played } from './player.ts'
import type { VoiceSentence } from './voice-options.ts'

type SentenceEvent = Extract<VoiceEvent, { type: 'voice_sentence' }>

/** What is said of one run over one connection. */
export interface Turn {
  /** The player's number for it; those of the server begin anew with each connection. */
  readonly clip: number
  readonly number: number
  /** The number of the entry that began the run. */
  readonly seq: number
  readonly run: string
  /** How it went has been told. */
  isRecorded: boolean
  /** Where it began: behind what was said over an earlier connection. */
  readonly from: VoicePlace
  sentences: SentenceEvent[]
  /** How many of them have begun to be heard. */
  begun: number
  played: number
  /** What the server knows of that. */
  reported: number
  /** How long it is, once that is known. */
  samples: number | undefined
  /** Somebody wanted quiet: nothing more of it is heard. */
  hushed: boolean
}

export function newTurn(
  clip: number,
  { turn, seq, run }: Extract<VoiceEvent, { type: 'voice_turn' }>,
  before: VoicePlace | undefined,
): Turn {
  return {
    clip,
    number: turn,
    seq,
    run,
    isRecorded: false,
    from: before?.seq === seq ? before : { seq, round: 1, chars: 0 },
    sentences: [],
    begun: 0,
    played: 0,
    reported: 0,
    samples: undefined,
    hushed: false,
  }
}

/** Nothing more of it is to be heard. What was taken back at its end is never played, so it may be over before its length. */
export function isOver({ samples, played, hushed }: Turn, isIdle: boolean): boolean {
  return hushed || (samples !== undefined && (isIdle || played >= samples))
}

export function notePlayed(turn: Turn, { clip, position }: Played): void {
  if (clip === turn.clip) turn.played = position
  // It was played to its end before the next one.
  else if (clip > turn.clip) turn.played = turn.samples ?? turn.played
}

/** Those that have begun to be heard since this was asked last. */
export function begunSentences(turn: Turn): VoiceSentence[] {
  const { sentences, begun, played, seq } = turn
  const fresh = sentences.slice(begun).filter(({ position }) => position < played)
  turn.begun += fresh.length
  return fresh.map(({ text, round, start = 0, chars = 0 }) => ({
    text,
    seq,
    ...(round !== undefined && { round, start, chars }),
  }))
}

/** Forgets the sentences from a position on. */
export function takeBack(turn: Turn, position: number): void {
  turn.sentences = turn.sentences.filter((one) => one.position < position)
  turn.begun = Math.min(turn.begun, turn.sentences.length)
}

/** Its last sentence is more than announced: something of it was heard. */
export function lastHasBegun({ sentences, played }: Turn): boolean {
  const last = sentences.at(-1)
  return last === undefined || last.position < played
}

/** Where somebody else is to go on: with the first sentence that was not heard to its end. */
export function unheardPlace(turn: Turn, isIdle: boolean): VoicePlace {
  const { sentences, samples = Infinity, played, seq } = turn
  const endOf = (index: number) => sentences[index + 1]?.position ?? samples
  const next = sentences.find(({ round }, index) => round !== undefined && endOf(index) > played)
  const { round, start = 0 } = next ?? {}
  const isWhole = isIdle && (turn.samples !== undefined || lastHasBegun(turn))
  return round === undefined || isWhole ? placeOf(turn, true) : { seq, round, chars: start }
}

/** Where one that was cut off is to go on: behind its last sentence, or at its beginning if not all of that has come. */
export function placeOf({ sentences, seq, from }: Turn, lastIsWhole: boolean): VoicePlace {
  const at = sentences.findLastIndex(({ round }) => round !== undefined)
  const { round, start = 0, chars = 0 } = sentences[at] ?? {}
  if (round === undefined) return from
  return { seq, round, chars: lastIsWhole || at < sentences.length - 1 ? start + chars : start }
}
