// What the model says to every question: ten sentences, with a tool after the fourth. All of it ASCII, since the followers read bytes.

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
    'Somebody has to be at home to sign for it.',
    'You can also collect it at the post office.',
    'Is there anything else that I can do for you?',
  ],
]

/** The words of each round. */
export const roundTexts = rounds.map((sentences) => sentences.join(' '))
export const answerChars = roundTexts.join('').length
export const sentenceCount = rounds.flat().length

/** Where the words are of which the model has to say the first characters before it is certain that the first sentence is over. */
export const firstSentenceChars = (rounds[0]?.[0] ?? '').length + 1
export const secondSentenceChars = firstSentenceChars + (rounds[0]?.[1] ?? '').length

/** As a model sends it: a word with the space before it. */
export const wordsOf = (text: string) => text.match(/\s*\S+/g) ?? []
