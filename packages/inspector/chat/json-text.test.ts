import { expect, test } from 'vitest'
import { asText, inputProblem } from './json-text.ts'

test('what is short stands on one line, and what is long on many', () => {
  expect(asText({ id: 'ORD-42', n: [1, 2] })).toBe('{"id":"ORD-42","n":[1,2]}')
  expect(asText({ id: 'x'.repeat(80) })).toBe(`{\n  "id": "${'x'.repeat(80)}"\n}`)
})

test('words stay as they are', () => {
  expect(asText('a\n   "b"')).toBe('a\n   "b"')
})

test('an input is an object, and anything else says what it should be', () => {
  expect(inputProblem('{ "id": 1 }')).toBe('')
  expect(inputProblem('{ "id": }')).toMatch(/^This is not JSON: /)
  for (const other of ['[1]', 'null', '3', '"x"']) expect(inputProblem(other)).toContain('an object')
})
