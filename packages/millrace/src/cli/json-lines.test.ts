import { expect, test } from 'vitest'
import { jsonLine } from './json-lines.ts'

test('a line is one versioned object, whatever its text contains', () => {
  const text = 'a\nb\u0085c\u2028d\u001b[31m\u009b2J\u202e\u200f\u007fé😀'
  const line = jsonLine({ text })
  expect(line.endsWith('\n')).toBe(true)
  expect(JSON.parse(line)).toEqual({ v: 1, text })
  expect(line.slice(0, -1)).toMatch(/^[^\p{Cc}\p{Bidi_Control}\u2028\u2029]*$/u)
  expect(line).toContain('é😀')
})
