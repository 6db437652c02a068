import type { Sentence } from './sentence.ts'
import type { SentenceSettings } from './sentence-options.ts'

/** Joins short sentences until there is enough to speak. */
export interface Joiner {
  take(sentence: Sentence): Sentence[]
  flush(): Sentence[]
}

const stop = /[\p{P}]$/u

export function joiner({ minChars, firstMinChars, maxChars }: SentenceSettings): Joiner {
  let held: Sentence | undefined
  let minLength = firstMinChars

  function flush() {
    const ready = held ? [held] : []
    held = undefined
    return ready
  }

  return {
    take(sentence) {
      const tooLong = held && held.source.length + sentence.source.length > maxChars
      const ready = tooLong && sentence.speech ? flush() : []
      held = held ? joinSentences(held, sentence) : sentence
      const { length } = held.speech
      // A silent piece stays with a short one, and is returned alone otherwise.
      if (length > 0 ? length < minLength : ready.length > 0) return ready
      if (length > 0) minLength = minChars
      return [...ready, ...flush()]
    },
    flush() {
      minLength = firstMinChars
      return flush()
    },
  }
}

/** Joins two sentences. A heading or list item gets a stop, so that there is a pause. */
function joinSentences(first: Sentence, second: Sentence): Sentence {
  const { length } = first.source
  const source = first.source + second.source
  const origins = second.origins.map((origin) => origin + length)
  if (!first.speech) return { ...first, source, speech: second.speech, origins }
  if (!second.speech) return { ...first, source, origins: [...first.origins.slice(0, -1), source.length] }
  const between = stop.test(first.speech) ? ' ' : '. '
  return {
    source,
    start: first.start,
    speech: first.speech + between + second.speech,
    origins: [...first.origins.slice(0, -1), ...Array<number>(between.length).fill(length), ...origins],
  }
}
