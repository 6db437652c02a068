import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import type { SentenceOptions } from '../../../../voice/src/sentences/sentence.ts'
import { sentences } from '../../../../voice/src/sentences/splitter.ts'
import { deltaCleaner } from '../../cli/terminal/clean.ts'
import { markdown } from '../../cli/terminal/markdown.ts'
import { fragments } from './fragments.test-kit.ts'
import { markdownParser } from './parser.ts'
import { recordingSink } from './recording-sink.test-kit.ts'

/** An output for pieces of text; `shown` returns everything that came out so far. */
interface Output {
  push(piece: string): void
  end(): void
  shown(): unknown
}

function elements(): Output {
  const sink = recordingSink()
  const parser = markdownParser(sink)
  return { push: parser.write, end: parser.end, shown: () => [sink.xml(), parser.held] }
}

function terminal(width: number): Output {
  const view = markdown({ width: () => width, color: true })
  const clean = deltaCleaner()
  const rows: string[] = []
  return {
    push: (piece) => view.push(clean(piece)),
    end: view.end,
    shown() {
      rows.push(...view.take())
      return [rows, view.live()]
    },
  }
}

function speech(options: SentenceOptions): Output {
  const splitter = sentences(options)
  const spoken: unknown[] = []
  return {
    push: (piece) => spoken.push(...splitter.push(piece)),
    end: () => spoken.push(...splitter.flush()),
    shown: () => spoken,
  }
}

const hidden = fc.constantFrom('\x1b', '\x1b[', '\x1b[3', '\x1b]8;', '\x07', '\x1b\\', '\r', '\u202e', '\x9b')
const parts = fc.array(fc.oneof({ weight: 12, arbitrary: fragments }, hidden, fc.string()), { maxLength: 60 })
const cuts = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 20 })

test.each<[string, () => Output]>([
  ['elements', elements],
  ['rows of a narrow terminal', () => terminal(12)],
  ['rows of a terminal', () => terminal(40)],
  ['speech', () => speech({})],
  [
    'speech that reads everything',
    () => speech({ code: 'read', tables: 'read', links: 'read', maxChars: 30 }),
  ],
])('the same text gives the same %s at any time, however it is split', (_, output) => {
  fc.assert(
    fc.property(parts, cuts, fc.nat(), (some, sizes, moment) => {
      const whole = some.join('')
      const middle = moment % (whole.length + 1)
      const [single, atOnce, pieces] = [output(), output(), output()]
      for (const unit of whole.slice(0, middle).split('')) single.push(unit)
      atOnce.push(whole.slice(0, middle))
      expect(atOnce.shown()).toEqual(single.shown())
      for (const unit of whole.slice(middle).split('')) single.push(unit)
      atOnce.push(whole.slice(middle))
      for (let at = 0, turn = 0; at < whole.length; turn++) {
        const size = (sizes[turn % sizes.length] ?? 0) + 1
        pieces.push(whole.slice(at, at + size))
        at += size
      }
      for (const one of [single, atOnce, pieces]) one.end()
      expect(atOnce.shown()).toEqual(single.shown())
      expect(pieces.shown()).toEqual(single.shown())
    }),
    { numRuns: sized(1500) },
  )
})
