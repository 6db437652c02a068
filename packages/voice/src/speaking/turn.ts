import type { TurnRecord } from 'millrace/internal'
import type { Place, SpokenRun } from './reading.ts'
import { countWords, heardPlace } from './segment.ts'
import type { Speaker } from './speaker.ts'

/** What is spoken of a run, from its beginning or from the last turn of the same run on. */
export interface Turn {
  readonly number: number
  readonly run: SpokenRun
  /** The rounds of the run up to this one belong to earlier turns. */
  readonly after: number
  readonly speaker: Speaker
  /** What its times are counted from. */
  readonly since: TurnRecord['since']
  readonly startedAt: number
  firstSentenceAt: number | undefined
}

/** How far the client knows the text of a turn. */
export function placeHeard({ speaker, run }: Turn, sampleRate: number): Place | undefined {
  return heardPlace(speaker.segments, speaker.playhead.position, sampleRate) ?? run.known
}

/** How far each round after one was heard, for those of which not all was, or which goes on. */
export function unheardRounds(run: SpokenRun, after: number, place: Place | undefined): Place[] {
  return [...run.rounds].flatMap(([round, length]) => {
    const chars = round < (place?.round ?? 0) ? length : round === place?.round ? place.chars : 0
    return round > after && (chars < length || round === run.round) ? [{ round, chars }] : []
  })
}

export function recordOf(turn: Turn, outcome: TurnRecord['outcome'], sampleRate: number): TurnRecord {
  const { speaker, run, startedAt, firstSentenceAt } = turn
  const { segments, unsaid, playhead, samples, gaps, firstAudioAt } = speaker
  const after = (at: number | undefined) =>
    at === undefined ? undefined : Math.max(0, Math.round(at - startedAt))
  const times = {
    firstTokenMs: after(run.firstTextAt),
    firstSentenceMs: after(firstSentenceAt),
    firstAudioMs: after(firstAudioAt),
    playbackMs: after(playhead.beganAt),
  }
  const ms = (count: number) => Math.round((count / sampleRate) * 1000)
  const spoken = segments.filter(({ place, isRetracted }) => place && !isRetracted)
  const place = heardPlace(segments, playhead.position, sampleRate)
  let [words, wordsHeard] = [0, 0]
  // Generated before it was cut off, though nobody began to say it.
  for (const { place: at, sentence } of unsaid) if (at) words += countWords(sentence.source)
  for (const { place: at, sentence, hasFailed, samples } of spoken) {
    if (!at) continue
    words += countWords(sentence.source)
    if (!place || at.round > place.round || (hasFailed && samples === 0)) continue
    const chars = at.round < place.round ? sentence.source.length : place.chars - at.start
    wordsHeard += countWords(sentence.source.slice(0, Math.max(0, chars)))
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
    wordsHeard,
    outcome,
  }
}
