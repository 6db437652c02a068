import fc from 'fast-check'
import { expect, test } from 'vitest'
import { braces } from './braces.ts'

function closed(...pieces: readonly string[]): boolean {
  const open = braces()
  for (const piece of pieces) open.push(piece)
  return open.closed()
}

test('an object is closed by its last brace only', () => {
  expect(closed()).toBe(false)
  expect(closed('{"a":', '{}')).toBe(false)
  expect(closed('{"a":', '{}', '}')).toBe(true)
  expect(closed(' {}\n')).toBe(true)
  expect(closed('null')).toBe(false)
  expect(closed('"{}"')).toBe(false)
})

test('braces and quotes inside strings are ignored', () => {
  expect(closed('{"a":"}')).toBe(false)
  expect(closed('{"a":"\\', '"}')).toBe(false)
  expect(closed('{"a":"\\', '"}"}')).toBe(true)
  expect(closed('{"a":"\\\\', '"}')).toBe(true)
})

test('no prefix of an object is closed, wherever it is cut', () => {
  const values = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 5 }), (value, size) => {
      const text = JSON.stringify(value)
      const open = braces()
      for (let at = 0; at < text.length; at += size) {
        open.push(text.slice(at, at + size))
        expect(open.closed()).toBe(at + size >= text.length)
      }
    }),
  )
})
