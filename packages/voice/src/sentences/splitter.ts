import { invalidInput, kindOf } from 'millrace/internal'
import type { Cut } from './cut.ts'
import { joiner } from './join.ts'
import { scan } from './scan.ts'
import type { Sentence, SentenceOptions, SentenceSplitter } from './sentence.ts'
import { readSentenceOptions } from './sentence-options.ts'
import { spoken } from './spoken/index.ts'
import { textBuffer } from './text-buffer.ts'

function checkText(op: string, call: string, text: unknown) {
  if (typeof text !== 'string') throw invalidInput(op, `${call} takes text, not ${kindOf(text)}`)
}

/** Text is processed in pieces of this length, to bound the buffer. */
const pieceLength = 1024

/**
 * Splits streamed text into sentences. A sentence is returned with its last character, or with the
 * first one after it that decides. `start` counts from the first `push`.
 */
export function sentences(options: SentenceOptions = {}): SentenceSplitter {
  const settings = readSentenceOptions(options)
  const join = joiner(settings)
  let position = 0
  let text = textBuffer(position)
  let cuts = scan(text, settings)

  function take(cut: Cut): Sentence[] {
    const start = position
    const source = text.take(cut.end)
    position = cut.end
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
      text = textBuffer(position)
      cuts = scan(text, settings)
      return found
    },
  }
}

/** The sentences of a text, trimmed. */
export function splitSentences(text: string, options: SentenceOptions = {}): string[] {
  checkText('splitSentences', 'splitSentences()', text)
  const splitter = sentences(options)
  return [...splitter.push(text), ...splitter.flush()].map(({ source }) => source.trim()).filter(Boolean)
}
