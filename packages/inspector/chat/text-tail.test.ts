import { expect, test } from 'vitest'
import { excerpt, lastLine, tail, whole } from './text-tail.ts'

const growing = (...pieces: string[]) => ({ pieces, chars: pieces.join('').length, closed: false })

test('the last line is the last that says something', () => {
  expect(lastLine(growing('One.\nTw', 'o, and', ' more.'))).toBe('Two, and more.')
  expect(lastLine(growing('One.\n', 'Two.', '\n\n', ' '))).toBe('Two.')
  expect(lastLine(growing('\n'))).toBe('')
  expect(lastLine(growing())).toBe('')
})

test('an excerpt begins where it is told to, and says that there is more', () => {
  expect(excerpt(growing('One. ', 'Two.'), 4)).toBe('Two.')
  expect(excerpt(growing('One. ', 'x'.repeat(500)), 0, 7)).toBe('One. xx …')
})

test('a long line shows its end', () => {
  expect(lastLine(growing('x'.repeat(500), 'the end'), 20)).toBe(`${'x'.repeat(13)}the end`)
})

test('only the last pieces are looked at', () => {
  const text = growing(...Array.from({ length: 10_000 }, (_, index) => `word ${index} `))
  let looked = 0
  const pieces = new Proxy(text.pieces, {
    get(target, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) looked++
      return Reflect.get(target, name)
    },
  })
  expect(lastLine({ ...text, pieces })).toMatch(/word 9999$/)
  expect(looked).toBeLessThan(500)
})

test('the tail is the last of it', () => {
  expect(tail(growing('abc', 'def', 'g'), 5)).toBe('cdefg')
  expect(tail(growing('abc'), 5)).toBe('abc')
})

test('the whole is all of it', () => {
  expect(whole(growing('a', 'b', 'c'))).toBe('abc')
})
