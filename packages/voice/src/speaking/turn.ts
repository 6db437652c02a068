import type { TurnRecord } from 'millrace/internal'
import type { SpokenRun, TextPosition } from './reading.ts'
import { countWords, playedPosition } from './segment.ts'
import type { Speaker } from './speaker.ts'

/** The spoken part of a run, from its start or from the end of its previous turn. */
export interface Turn {
  readonly number: number
  readonly run: SpokenRun
  /** Rounds up to this one belong to earlier turns. */
  readonly after: number
  readonly speaker: Speaker
  /** What `startedAt` refers to. */
  readonly since: TurnRecord['since']
  readonly startedAt: number
  firstSentenceAt: number | undefined
}

/** How far the user knows the text of a turn. */
export function playedPositionOf({ speaker, run }: Turn, sampleRate: number): TextPosition | undefined {
  return playedPosition(speaker.segments, speaker.playhead.position, sampleRate) ?? run.known
}

/**
 * The played positions of the rounds after `after` that were not played completely or are still
 * open.
 */
export function unplayedRounds(
  run: SpokenRun,
  after: number,
  played: TextPosition | undefined,
): TextPosition[] {
  return [...run.rounds].flatMap(([round, length]) => {
    const chars = round < (played?.round ?? 0) ? length : round === played?.round ? played.chars : 0
    return round > after && (chars < length || round === run.round) ? [{ round, chars }] : []
  })
}

export function recordOf(turn: Turn, outcome: TurnRecord['outcome'], sampleRate: number): TurnRecord {
  const { speaker, run, startedAt, firstSentenceAt } = turn
  const { segments, unspoken, playhead, samples, gaps, firstAudioAt } = speaker
  const after = (at: number | undefined) =>
    at === undefined ? undefined : Math.max(0, Math.round(at - startedAt))
  const times = {
    firstTokenMs: after(run.firstTextAt),
    firstSentenceMs: after(firstSentenceAt),
    firstAudioMs: after(firstAudioAt),
    playbackMs: after(playhead.startedAt),
  }
  const ms = (count: number) => Math.round((count / sampleRate) * 1000)
  const spoken = segments.filter(({ textPosition, isRetracted }) => textPosition && !isRetracted)
  const played = playedPosition(segments, playhead.position, sampleRate)
  let [words, wordsPlayed] = [0, 0]
  // Generated before the interruption, but never spoken.
  for (const { textPosition: at, sentence } of unspoken) if (at) words += countWords(sentence.source)
  for (const { textPosition: at, sentence, hasFailed, samples } of spoken) {
    if (!at) continue
    words += countWords(sentence.source)
    if (!played || at.round > played.round || (hasFailed && samples === 0)) continue
    const chars = at.round < played.round ? sentence.source.length : played.chars - at.start
    wordsPlayed += countWords(sentence.source.slice(0, Math.max(0, chars)))
  }
  return {
    turn: turn.number,
    run: run.id,
    since: turn.since,
    ...Object.fromEntries(Object.entries(times).filter(([, ms]) => ms !== undefined)),
    gaps,
    sentences: segments.filter(({ sentence, isRetracted }) => sentence.speech && !isRetracted).length,
    failed: segments.filter(({ hasFailed, isRetracted }) => hasFailed && !isRetracted).length,
    audioMs: ms(samples),
    playedMs: ms(playhead.position),
    words,
    wordsPlayed,
    outcome,
  }
}
