import { segmenter } from '../segmenter.ts'
import type { Sentence } from '../sentences/sentence.ts'
import type { SpokenWord } from '../speech.ts'

/** Something to speak: a sentence from the model, or a filler line. */
export interface Utterance {
  readonly sentence: Pick<Sentence, 'source' | 'speech' | 'origins'>
  /** Its position in the model's text; absent for a filler line. */
  readonly textPosition?: { readonly round: number; readonly start: number } | undefined
  /** What it had to wait for. */
  readonly waitedFor: 'model' | 'tool'
}

/** An utterance that was started, with its audio so far. */
export interface Segment extends Utterance {
  /** The position of its first sample in the turn. */
  readonly position: number
  samples: number
  isDone: boolean
  hasFailed: boolean
  /** Its round was retracted. */
  isRetracted: boolean
  readonly words: SpokenWord[]
}

/** A rough speaking rate, for synthesizers without word timings whose audio is incomplete. */
const charsPerSecond = 15

/** Counts words, in any language. */
export function countWords(text: string): number {
  let count = 0
  for (const { isWordLike } of segmenter('word').segment(text)) if (isWordLike) count++
  return count
}

/**
 * How far the model's text was played: the end of the last word, within its round. Undefined if
 * nothing was.
 */
export function playedPosition(
  segments: readonly Segment[],
  position: number,
  sampleRate: number,
): { readonly round: number; readonly chars: number } | undefined {
  let last: { round: number; chars: number } | undefined
  for (const segment of segments) {
    const { textPosition, sentence, samples, isDone, hasFailed, isRetracted } = segment
    if (segment.position > position) break
    // A segment without audio counts as played only if a later one was.
    if (!textPosition || isRetracted || (hasFailed && samples === 0)) continue
    const played = position - segment.position
    const isWhole = isDone && !hasFailed && played >= samples
    const chars = isWhole ? sentence.source.length : playedChars(segment, played, sampleRate)
    if (chars > 0) last = { round: textPosition.round, chars: textPosition.start + chars }
  }
  return last
}

/** How many characters of the source were played after this many samples of the segment. */
function playedChars(segment: Segment, played: number, sampleRate: number): number {
  if (played <= 0) return 0
  const { sentence, words } = segment
  const end =
    words.length > 0 ? endByWordTimes(words, played / sampleRate) : endByEstimate(segment, played, sampleRate)
  // Up to the end of its last letter, not to the start of the next one.
  return end > 0 ? (sentence.origins[end - 1] ?? 0) + 1 : 0
}

/** A word counts once half of it was played. */
function endByWordTimes(words: readonly SpokenWord[], seconds: number): number {
  return words.findLast(({ startMs, endMs }) => startMs + endMs <= 2000 * seconds)?.end ?? 0
}

function endByEstimate(
  { sentence, samples, isDone, hasFailed }: Segment,
  played: number,
  sampleRate: number,
): number {
  const { speech } = sentence
  const estimate = (speech.length / charsPerSecond) * sampleRate
  const total = isDone && !hasFailed ? samples : Math.max(samples, estimate)
  const upTo = (played / total) * speech.length
  let end = 0
  for (const { index, segment, isWordLike } of segmenter('word').segment(speech)) {
    if (index + segment.length / 2 > upTo) break
    if (isWordLike) end = index + segment.length
  }
  return end
}
