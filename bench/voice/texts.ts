import { numbers } from '../server/scenario.ts'

// The answer to every question: ten sentences, with a tool call after the fourth. ASCII, since the
// followers read bytes.

const rounds: readonly (readonly string[])[] = [
  [
    'Good morning, and thank you for calling.',
    'I will look up your order right away.',
    'It may take a moment, so please stay with me.',
    'Let me see what the warehouse says about it.',
  ],
  [
    'Your order left the warehouse this morning.',
    'It should be with you by tomorrow evening.',
    'The driver will call before he rings the bell.',
    'Someone has to be at home to sign for it.',
    'You can also collect it at the post office.',
    'Is there anything else that I can do for you?',
  ],
]

/** The words of each round. */
export const roundTexts = rounds.map((sentences) => sentences.join(' '))
export const answerChars = roundTexts.join('').length
export const sentenceCount = rounds.flat().length

/** How many characters must have arrived before the end of the first sentence is certain. */
export const firstSentenceChars = (rounds[0]?.[0] ?? '').length + 1
export const secondSentenceChars = firstSentenceChars + (rounds[0]?.[1] ?? '').length

/** As a model sends it: a word with the space before it. */
export const wordsOf = (text: string) => text.match(/\s*\S+/g) ?? []

// Typical model output, with periods that do not end a sentence.
const sentences = [
  'The order left the warehouse in the morning and is on its way.',
  'Dr. Jones met Mr. Smith at 5 p.m. on Friday, e.g. in the small room.',
  'It costs $4.50 in version 2.0.1, see https://example.org/a?b=c.d for more!',
  'Is that what you wanted to know?',
  'She said "Stop!" and left... then she came back.',
  'Write to help@example.org, or ask at the desk.',
  'There are 3.5 million of them in the U.S. today.',
  'He stayed (as he always did).',
  'Well, that is **all** there is to say about it.',
  'Prof. A. B. Miller works for Acme Inc. in St. Louis.',
]

/** Text of this length, the same on every machine, with occasional paragraphs. */
export function prose(chars: number): string {
  const next = numbers(7)
  const parts: string[] = []
  for (let length = 0; length < chars; ) {
    const sentence = sentences[Math.floor(next() * sentences.length)] ?? ''
    const part = `${sentence}${next() < 0.15 ? '\n\n' : ' '}`
    parts.push(part)
    length += part.length
  }
  return parts.join('').slice(0, chars)
}

/** In pieces of this length, as a model sends it. */
export function* pieces(text: string, length: number): Generator<string> {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length)
}
