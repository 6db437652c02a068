import { expect, test } from 'vitest'
import { parseJson } from './parse-json.ts'

const parse = (text: string) => parseJson(text, { op: 'test', what: 'it' })
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

test('what is nested too deep is refused before it is read', () => {
  expect(() => parse(nested(101))).toThrow('it is nested more than 100 deep')
  expect(() => parse('{"a":'.repeat(100_000))).toThrow('100 deep')
  expect(parse(nested(100))).toEqual(JSON.parse(nested(100)))
})

test('brackets in text and side by side do not count', () => {
  for (const value of [
    '['.repeat(500),
    `\\"${'{'.repeat(500)}`,
    `"${'\\'.repeat(301)}${'['.repeat(200)}`,
    Array.from({ length: 500 }, () => []),
    Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`[${index}`, { a: '}' }])),
  ])
    expect(parse(JSON.stringify(value))).toEqual(value)
})

test('what is not JSON says where', () => {
  expect(() => parse(`{"a": ${' '.repeat(300)}"unclosed [[[`)).toThrow('it is not valid JSON')
  expect(() => parse('')).toThrow('it is not valid JSON')
})
