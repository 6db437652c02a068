import type { VoiceEvent, VoicePosition } from '../protocol/index.ts'
import type { Played } from './player.ts'
import type { VoiceSentence } from './voice-options.ts'

type SentenceEvent = Extract<VoiceEvent, { type: 'voice_sentence' }>

/** The speech of one run over one connection. */
export interface Turn {
  /** The player's number for the turn. The server's numbers restart with each connection. */
  readonly clip: number
  readonly number: number
  /** The number of the run-start entry. */
  readonly seq: number
  readonly run: string
  /** Whether its record has arrived. */
  isRecorded: boolean
  /** Where it started: after what was spoken over an earlier connection. */
  readonly from: VoicePosition
  sentences: SentenceEvent[]
  /** How many sentences have started to play. */
  startedSentences: number
  played: number
  /** The position last reported to the server. */
  reported: number
  /** Its length, once known. */
  samples: number | undefined
  /** Whether it was interrupted: nothing more of it is played. */
  isSilenced: boolean
}

export function newTurn(
  clip: number,
  { turn, seq, run }: Extract<VoiceEvent, { type: 'voice_turn' }>,
  before: VoicePosition | undefined,
): Turn {
  return {
    clip,
    number: turn,
    seq,
    run,
    isRecorded: false,
    from: before?.seq === seq ? before : { seq, round: 1, chars: 0 },
    sentences: [],
    startedSentences: 0,
    played: 0,
    reported: 0,
    samples: undefined,
    isSilenced: false,
  }
}

/** Whether nothing more of a turn will be played. Retracted audio at its end is never played. */
export function isFinished({ samples, played, isSilenced }: Turn, isIdle: boolean): boolean {
  return isSilenced || (samples !== undefined && (isIdle || played >= samples))
}

export function notePlayed(turn: Turn, { clip, position }: Played): void {
  if (clip === turn.clip) turn.played = position
  // A later clip plays, so this one was played to the end.
  else if (clip > turn.clip) turn.played = turn.samples ?? turn.played
}

/** The sentences that have started to play since the last call. */
export function newlyStartedSentences(turn: Turn): VoiceSentence[] {
  const { sentences, startedSentences, played, seq } = turn
  const fresh = sentences.slice(startedSentences).filter(({ position }) => position < played)
  turn.startedSentences += fresh.length
  return fresh.map(({ text, round, start = 0, chars = 0 }) => ({
    text,
    seq,
    ...(round !== undefined && { round, start, chars }),
  }))
}

/** Removes the sentences from a position on. */
export function dropSentencesFrom(turn: Turn, position: number): void {
  turn.sentences = turn.sentences.filter((one) => one.position < position)
  turn.startedSentences = Math.min(turn.startedSentences, turn.sentences.length)
}

/** Whether some of the last sentence has been played. */
export function lastSentenceStarted({ sentences, played }: Turn): boolean {
  const last = sentences.at(-1)
  return last === undefined || last.position < played
}

/** Where another line should continue: at the first sentence that was not played to the end. */
export function firstUnheardPosition(turn: Turn, isIdle: boolean): VoicePosition {
  const { sentences, samples = Infinity, played, seq } = turn
  const endOf = (index: number) => sentences[index + 1]?.position ?? samples
  const next = sentences.find(({ round }, index) => round !== undefined && endOf(index) > played)
  const { round, start = 0 } = next ?? {}
  const isComplete = isIdle && (turn.samples !== undefined || lastSentenceStarted(turn))
  return round === undefined || isComplete ? resumePosition(turn, true) : { seq, round, chars: start }
}

/** Where to resume a turn: after its last sentence, or at the start of it if it is incomplete. */
export function resumePosition({ sentences, seq, from }: Turn, isLastComplete: boolean): VoicePosition {
  const at = sentences.findLastIndex(({ round }) => round !== undefined)
  const { round, start = 0, chars = 0 } = sentences[at] ?? {}
  if (round === undefined) return from
  return { seq, round, chars: isLastComplete || at < sentences.length - 1 ? start + chars : start }
}
