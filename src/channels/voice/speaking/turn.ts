import type { TurnRecord } from '../../../protocol/index.ts'
import { countWords, heardPlace } from './segment.ts'
import type { Speaker } from './speaker.ts'

/** The answer of a run as it is being spoken. */
export interface Turn {
  readonly number: number
  readonly run: string
  readonly speaker: Speaker
  /** What its times are counted from. */
  readonly since: TurnRecord['since']
  readonly startedAt: number
  readonly firstTokenAt: number | undefined
  firstSentenceAt: number | undefined
  /** How long the words of its rounds are so far. */
  readonly rounds: Map<number, number>
  /** Where it begins, if not with its first word. */
  readonly from: Place | undefined
  /** It is told to a client that has come back in the middle of it. */
  readonly isBack: boolean
}

interface Place {
  readonly round: number
  readonly chars: number
}

/** How far the words of a turn are known to who hears it. */
export function placeHeard({ speaker, from }: Turn, sampleRate: number): Place | undefined {
  return heardPlace(speaker.segments, speaker.playhead.position, sampleRate) ?? from
}

/** How far each round was heard, for those of which not all was, or which goes on. */
export function unheardRounds(
  rounds: ReadonlyMap<number, number>,
  { place, goesOn }: { readonly place: Place | undefined; readonly goesOn: number | undefined },
): Place[] {
  return [...rounds].flatMap(([round, length]) => {
    const chars = round < (place?.round ?? 0) ? length : round === place?.round ? place.chars : 0
    return chars < length || round === goesOn ? [{ round, chars }] : []
  })
}

export function recordOf(turn: Turn, outcome: TurnRecord['outcome'], sampleRate: number): TurnRecord {
  const { speaker, startedAt, firstTokenAt, firstSentenceAt } = turn
  const { segments, unsaid, playhead, samples, gaps, firstAudioAt } = speaker
  const after = (at: number | undefined) =>
    at === undefined ? undefined : Math.max(0, Math.round(at - startedAt))
  const times = {
    firstTokenMs: after(firstTokenAt),
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
    run: turn.run,
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
