import type { Sentence } from '../sentences/sentence.ts'
import type { SpokenWord } from '../speech.ts'

/** Something to be said: a sentence of the model's, or a line of our own. */
export interface Utterance {
  readonly sentence: Pick<Sentence, 'source' | 'speech' | 'origins'>
  /** Where it stands among the model's words; absent if they are not the model's. */
  readonly place?: { readonly round: number; readonly start: number } | undefined
  /** What was waited for before it came. */
  readonly waitedFor: 'model' | 'tool'
}

/** An utterance that has been begun, and the audio that was made of it. */
export interface Segment extends Utterance {
  /** The first sample's place in the turn. */
  readonly position: number
  samples: number
  isDone: boolean
  hasFailed: boolean
  /** Said for nothing: its round was retracted. */
  isRetracted: boolean
  readonly words: SpokenWord[]
}

/** So many characters are spoken in a second, about: for a voice that does not say, and is not done. */
const charsPerSecond = 15

const wordsOf = new Intl.Segmenter(undefined, { granularity: 'word' })

/** How many words a text has, in any language. */
export function countWords(text: string): number {
  let count = 0
  for (const { isWordLike } of wordsOf.segment(text)) if (isWordLike) count++
  return count
}

/** How far the model's words were heard: the end of the last word that was, in its round. Undefined if none was. */
export function heardPlace(
  segments: readonly Segment[],
  position: number,
  sampleRate: number,
): { readonly round: number; readonly chars: number } | undefined {
  let heard: { round: number; chars: number } | undefined
  for (const segment of segments) {
    const { place, sentence, samples, isDone, hasFailed, isRetracted } = segment
    if (segment.position > position) break
    // What was never said was not heard, unless something behind it was.
    if (!place || isRetracted || (hasFailed && samples === 0)) continue
    const played = position - segment.position
    const isWhole = isDone && !hasFailed && played >= samples
    const chars = isWhole ? sentence.source.length : heardChars(segment, played, sampleRate)
    if (chars > 0) heard = { round: place.round, chars: place.start + chars }
  }
  return heard
}

/** How many characters of its source were heard when so many samples of a segment were played. */
function heardChars(segment: Segment, played: number, sampleRate: number): number {
  if (played <= 0) return 0
  const { sentence, words } = segment
  const end =
    words.length > 0 ? endByTimes(words, played / sampleRate) : endByShare(segment, played, sampleRate)
  // To the end of its last letter, not to the beginning of whatever comes next.
  return end > 0 ? (sentence.origins[end - 1] ?? 0) + 1 : 0
}

/** A word counts from its middle on. */
function endByTimes(words: readonly SpokenWord[], seconds: number): number {
  return words.findLast(({ startMs, endMs }) => startMs + endMs <= 2000 * seconds)?.end ?? 0
}

function endByShare(
  { sentence, samples, isDone, hasFailed }: Segment,
  played: number,
  sampleRate: number,
): number {
  const { speech } = sentence
  const guess = (speech.length / charsPerSecond) * sampleRate
  const total = isDone && !hasFailed ? samples : Math.max(samples, guess)
  const upTo = (played / total) * speech.length
  let end = 0
  for (const { index, segment, isWordLike } of wordsOf.segment(speech)) {
    if (index + segment.length / 2 > upTo) break
    if (isWordLike) end = index + segment.length
  }
  return end
}
