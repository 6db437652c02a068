import { expect, test } from 'vitest'
import { painter, style } from './style.ts'
import { clip, widthOf } from './width.ts'

test.each([
  ['plain', 5],
  ['Grüße', 5],
  ['e\u0301te\u0301', 3],
  ['日本語', 6],
  ['ｆｕｌｌ', 8],
  ['한국어', 6],
  ['👍', 2],
  ['❤️', 2],
  ['\u{1F1E9}\u{1F1EA}', 2],
  ['…•│', 3],
  ['\u200b\u200d', 0],
])('%s is %i columns wide', (text, width) => {
  expect(widthOf(text)).toBe(width)
})

test('an emoji sequence is at least as wide as any terminal draws it', () => {
  expect(widthOf('👩‍👩‍👧')).toBeGreaterThanOrEqual(2)
})

test('colors have no width', () => {
  expect(widthOf(painter(true)([{ text: 'red', style: style.red | style.bold }]))).toBe(3)
})

test.each([
  ['fits', 4, 'fits'],
  ['too long', 5, 'too …'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['👍👍', 3, '👍…'],
])('%s clipped to %i columns is %s', (text, width, clipped) => {
  expect(clip(text, width)).toBe(clipped)
})

test('a very long text is clipped without measuring all of it', () => {
  expect(clip('x'.repeat(10_000_000), 10)).toBe('xxxxxxxxx…')
  expect(widthOf(clip('\u0301'.repeat(1000), 10))).toBeLessThanOrEqual(10)
})
