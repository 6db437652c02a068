import type { Sentence } from './sentence.ts'
import type { SentenceSettings } from './sentence-options.ts'

/** Keeps sentences back until there is enough of them to be spoken. */
export interface Joiner {
  take(sentence: Sentence): Sentence[]
  flush(): Sentence[]
}

const stop = /[\p{P}]$/u

export function joiner({ minChars, firstMinChars, maxChars }: SentenceSettings): Joiner {
  let held: Sentence | undefined
  let least = firstMinChars

  function flush() {
    const given = held ? [held] : []
    held = undefined
    return given
  }

  return {
    take(sentence) {
      const tooLong = held && held.source.length + sentence.source.length > maxChars
      const given = tooLong && sentence.speech ? flush() : []
      held = held ? joined(held, sentence) : sentence
      const { length } = held.speech
      // What says nothing waits with what is short, and is as good as given out alone.
      if (length > 0 ? length < least : given.length > 0) return given
      if (length > 0) least = minChars
      return [...given, ...flush()]
    },
    flush() {
      least = firstMinChars
      return flush()
    },
  }
}

/** Two in one. A heading or an item has no stop to pause at, so it is given one. */
function joined(first: Sentence, second: Sentence): Sentence {
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
