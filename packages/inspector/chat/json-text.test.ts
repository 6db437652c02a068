import { expect, test } from 'vitest'
import { asText, inputProblem, parsedOrText } from './json-text.ts'

test('short values take one line, long ones several', () => {
  expect(asText({ id: 'ORD-42', n: [1, 2] })).toBe('{"id":"ORD-42","n":[1,2]}')
  expect(asText({ id: 'x'.repeat(80) })).toBe(`{\n  "id": "${'x'.repeat(80)}"\n}`)
})

test('strings are unchanged', () => {
  expect(asText('a\n   "b"')).toBe('a\n   "b"')
})

test('arguments must be a JSON object', () => {
  expect(inputProblem('{ "id": 1 }')).toBe('')
  expect(inputProblem('{ "id": }')).toMatch(/^Invalid JSON: /)
  for (const other of ['[1]', 'null', '3', '"x"']) expect(inputProblem(other)).toContain('a JSON object')
})

test('a result is JSON if it can be read as JSON, and text otherwise', () => {
  expect(['{"a": [1]}', '42', 'null', 'dark red', ''].map(parsedOrText)).toEqual([
    { a: [1] },
    42,
    null,
    'dark red',
    '',
  ])
})
