import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldText } from '../protocol/index.ts'
import { excerptOf } from './excerpt.ts'

const excerpt = (text: string, word: string) => excerptOf({ text, search: foldText(text) }, foldText(word))

const words = (count: number, word = 'lorem') => Array.from({ length: count }, () => word).join(' ')

describe('an excerpt', () => {
  it('is the whole text if that is short, on one line', () => {
    expect(excerpt('The  Mill\n\n\tstands by the river. ', 'mill')).toBe('The Mill stands by the river.')
  })

  it('is cut at word boundaries, with the word inside', () => {
    const text = `${words(50)} the Mill-stone ${words(50)}`
    const cut = excerpt(text, 'STONE')
    expect(cut).toMatch(/^…(lorem )+the Mill-stone( lorem)+…$/)
    expect(cut.length).toBeLessThanOrEqual(122)
    expect(cut.length).toBeGreaterThan(90)
  })

  it('has an ellipsis only where something is missing', () => {
    expect(excerpt(`${words(50)} end`, 'end')).toMatch(/^…(lorem )+end$/)
    expect(excerpt(`start ${words(50)}`, 'start')).toMatch(/^start( lorem)+…$/)
    expect(excerpt(`word${' '.repeat(1000)}\n`, 'word')).toBe('word')
  })

  it('cuts a text without spaces anywhere but inside a character', () => {
    const text = `${'水'.repeat(300)}車${'😀'.repeat(300)}`
    const cut = excerpt(text, '車')
    expect(cut).toMatch(/^…水+車(😀)+…$/u)
    expect(excerpt(`a${'😀'.repeat(300)}車`, '車')).toMatch(/^…(😀)+車$/u)
    expect(excerpt('x'.repeat(500), 'x'.repeat(300))).toBe(`${'x'.repeat(120)}…`)
  })

  it('is found although folding changes the length of the text', () => {
    const text = `${'ß'.repeat(500)} ${words(20)} Straße ${words(20)}`
    expect(excerpt(text, 'strasse')).toMatch(/^…(lorem )+Straße( lorem)+…$/)
    const accents = `${'e\u0301'.repeat(500)} ${words(20)} cafe\u0301 ${words(20)}`
    expect(excerpt(accents, 'café')).toMatch(/^…(lorem )+cafe\u0301( lorem)+…$/)
  })

  it('has one space before the word, also if folding moves its place', () => {
    expect(excerpt('e\u0301  A ß', 'A')).toBe('e\u0301 A ß')
    const long = `ß Z${'!'.repeat(200)}`
    expect(excerpt(long, 'Z')).toContain('ß Z!')
  })

  it('contains the word, is short, well-formed and on one line, whatever the text is', () => {
    const part = fc.oneof(
      fc.constantFrom(' ', '\n', 'ß', 'ŉ', 'e\u0301', 'İ', '😀', '…', 'ﬃ'),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.string({ maxLength: 30 }),
    )
    const text = fc.array(part, { maxLength: 80, size: 'max' }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, fc.stringMatching(/^[A-Z]{1,9}$/), text, (before, word, after) => {
        const whole = `${before} ${word} ${after}`.toWellFormed().replaceAll('\0', ' ')
        const cut = excerpt(whole, word)
        expect(foldText(cut)).toContain(word)
        expect(cut.length).toBeLessThanOrEqual(122)
        expect(cut).not.toMatch(/\s\s|[^\S ]/)
        expect(cut.isWellFormed()).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})
