import { invalidInput, kindOf } from 'millrace/internal'
import type { Cut } from './cut.ts'
import { joiner } from './join.ts'
import { scan } from './scan.ts'
import type { Sentence, SentenceOptions, SentenceSplitter } from './sentence.ts'
import { readSentenceOptions } from './sentence-options.ts'
import { spoken } from './spoken/index.ts'
import { tape } from './tape.ts'

function checkText(op: string, call: string, text: unknown) {
  if (typeof text !== 'string') throw invalidInput(op, `${call} takes text, not ${kindOf(text)}`)
}

/** What is read at once: so what is kept stays short, however much comes. */
const pieceLength = 1024

/**
 * Splits text into sentences as it comes. A sentence is given out with its last character, or the first one behind it that
 * decides; `start` counts everything that was ever pushed.
 */
export function sentences(options: SentenceOptions = {}): SentenceSplitter {
  const settings = readSentenceOptions(options)
  const join = joiner(settings)
  let begun = 0
  let text = tape(begun)
  let cuts = scan(text, settings)

  function take(cut: Cut): Sentence[] {
    const start = begun
    const source = text.take(cut.end)
    begun = cut.end
    return join.take({ source, start, ...spoken(source, cut, settings) })
  }

  function* read(): Generator<Sentence> {
    for (;;) {
      const { value: cut, done } = cuts.next()
      if (!cut || done) return
      yield* take(cut)
    }
  }

  return {
    push(piece) {
      checkText('sentences', 'push()', piece)
      const found: Sentence[] = []
      for (let at = 0; at < piece.length; at += pieceLength) {
        text.push(piece.slice(at, at + pieceLength))
        found.push(...read())
      }
      return found
    },
    flush() {
      text.finish()
      const found = [...read(), ...join.flush()]
      text = tape(begun)
      cuts = scan(text, settings)
      return found
    },
  }
}

/** The sentences of a text as they are written, without the space around them. */
export function splitSentences(text: string, options: SentenceOptions = {}): string[] {
  checkText('splitSentences', 'splitSentences()', text)
  const splitter = sentences(options)
  return [...splitter.push(text), ...splitter.flush()].map(({ source }) => source.trim()).filter(Boolean)
}
