import { expect, test } from 'vitest'
import { excerpt, fullText, lastLine, tail } from './text-tail.ts'

const growing = (...pieces: string[]) => ({ pieces, chars: pieces.join('').length, closed: false })

test('the last line is the last one that is not blank', () => {
  expect(lastLine(growing('One.\nTw', 'o, and', ' more.'))).toBe('Two, and more.')
  expect(lastLine(growing('One.\n', 'Two.', '\n\n', ' '))).toBe('Two.')
  expect(lastLine(growing('\n'))).toBe('')
  expect(lastLine(growing())).toBe('')
})

test('an excerpt starts at an offset and marks where it was cut', () => {
  expect(excerpt(growing('One. ', 'Two.'), 4)).toBe('Two.')
  expect(excerpt(growing('One. ', 'x'.repeat(500)), 0, 7)).toBe('One. xx …')
})

test('a long line is cut at its start', () => {
  expect(lastLine(growing('x'.repeat(500), 'the end'), 20)).toBe(`${'x'.repeat(13)}the end`)
})

test('only the last pieces are read', () => {
  const text = growing(...Array.from({ length: 10_000 }, (_, index) => `word ${index} `))
  let reads = 0
  const pieces = new Proxy(text.pieces, {
    get(target, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads++
      return Reflect.get(target, name)
    },
  })
  expect(lastLine({ ...text, pieces })).toMatch(/word 9999$/)
  expect(reads).toBeLessThan(500)
})

test('the tail is the last characters', () => {
  expect(tail(growing('abc', 'def', 'g'), 5)).toBe('cdefg')
  expect(tail(growing('abc'), 5)).toBe('abc')
})

test('the full text joins all pieces', () => {
  expect(fullText(growing('a', 'b', 'c'))).toBe('abc')
})
