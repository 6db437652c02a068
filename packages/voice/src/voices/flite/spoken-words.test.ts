import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { splitPieces, spokenWords } from './spoken-words.ts'

const spoken = (text: string) => spokenWords(text).map((word) => word.spoken)

describe('the words of a text', () => {
  test('keep their positions and adjacent punctuation', () => {
    const text = '  “Hello,” she\tsaid.\n'
    const words = spokenWords(text)
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(['“Hello,”', 'she', 'said.'])
    expect(words.map((word) => word.spoken)).toEqual(['"Hello,"', 'she', 'said.'])
  })

  test.each([
    ['don’t', ["don't"]],
    ['café naïve Ærø Straße Łódź', ['cafe', 'naive', 'Aero', 'Strasse', 'Lodz']],
    ['sat—on it', ['sat,', 'on', 'it']],
    ['€5 £1,200.50, ¥ 9', ['5 euros', '1,200.50 pounds,', 'yen', '9']],
    ['salt & pepper', ['salt', 'and', 'pepper']],
    ['20° ½ cup', ['20 degrees', '1/2', 'cup']],
    ['well\u2011known 5–10', ['well-known', '5-10']],
    ['fun 🎉 and 猫 too', ['fun', 'and', 'too']],
    ['a\0b\u001b[31m', ['a', 'b', '[31m']],
    ['- ... ?! “”', []],
    ['', []],
  ])('%j is converted to ASCII', (text, words) => {
    expect(spoken(text)).toEqual(words)
  })

  test('are printable, in order, and not too long', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        let before = 0
        for (const { start, end, spoken } of spokenWords(text)) {
          expect(start).toBeGreaterThanOrEqual(before)
          expect(end).toBeGreaterThan(start)
          expect(spoken).toMatch(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/)
          before = end
        }
        expect(before).toBeLessThanOrEqual(text.length)
      }),
      { numRuns: sized(500) },
    )
    expect(spoken('x'.repeat(10_000)).every((word) => word.length <= 60)).toBe(true)
  })
})

describe('pieces', () => {
  const words = spokenWords('One two three, four five. '.repeat(60))

  test('include every word once, in order', () => {
    expect(splitPieces(words).flat()).toEqual(words)
    expect(splitPieces([])).toEqual([])
  })

  test('are not too long, and end at punctuation', () => {
    const pieces = splitPieces(words)
    expect(pieces.length).toBeGreaterThan(5)
    for (const piece of pieces) {
      expect(piece.map((word) => word.spoken).join(' ').length).toBeLessThanOrEqual(240)
      expect(piece.at(-1)?.spoken).toMatch(/[.,]$/)
    }
  })

  test('end between two words without punctuation', () => {
    const pieces = splitPieces(spokenWords('word '.repeat(200)))
    expect(pieces.map((piece) => piece.length)).toEqual([48, 48, 48, 48, 8])
  })
})
