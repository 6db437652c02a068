import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseArguments, toolCall } from './arguments.ts'
import { maxJsonDepth } from './partial-json.ts'

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

describe('parseArguments', () => {
  test.each(['', ' ', ' \r\n\t'])('blank text (%j) is a call without arguments', (raw) => {
    expect(parseArguments(raw)).toEqual({ input: {} })
  })

  test('an object is the input', () => {
    const raw = ' {"city": "Paris", "days": [1, -2.5e3], "deep": {"a": null, "b": true}} '
    expect(parseArguments(raw)).toEqual({ input: JSON.parse(raw) })
  })

  test('a `__proto__` key stays a key', () => {
    const { input } = parseArguments('{"__proto__": {"isAdmin": true}}')
    expect(Object.keys(input)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype)
    expect(input.isAdmin).toBeUndefined()
  })

  test.each([
    ['[1]', 'an array'],
    ['"{}"', 'a string'],
    ['12', 'a number'],
    ['true', 'a boolean'],
    ['null', 'null'],
    ['1e999', 'a number'],
  ])('%s is rejected as %s', (raw, kind) => {
    expect(parseArguments(raw)).toEqual({
      input: {},
      problem: `the arguments must be a JSON object, not ${kind}`,
    })
  })

  test.each([
    '{',
    '{"a":}',
    '{"a":1,}',
    "{'a':1}",
    '{}{}',
    '{"a":"\n"}',
    'call me',
    '\u0000',
    '{"a":undefined}',
  ])('%j is rejected as invalid JSON', (raw) => {
    const { input, problem } = parseArguments(raw)
    expect(input).toEqual({})
    expect(problem).toMatch(/^the arguments are not valid JSON: ./)
  })

  test.each([
    ['{"a":1e999}', 'a'],
    ['{"a":-1e999}', 'a'],
    ['{"":1e999}', '[""]'],
    ['{"a":{"b":[0,{"c d":[1e400]}]}}', 'a.b[1]["c d"][0]'],
    [`{"n":${'9'.repeat(400)}}`, 'n'],
  ])('%s is rejected, and the error names the path of the number: %s', (raw, path) => {
    expect(parseArguments(raw)).toEqual({
      input: {},
      problem: `a number in the arguments is out of range: ${path}`,
    })
  })

  test('the maximum depth is accepted, one level more is rejected', () => {
    expect(parseArguments(nested(maxJsonDepth)).problem).toBeUndefined()
    expect(parseArguments(nested(maxJsonDepth + 1))).toEqual({
      input: {},
      problem: 'the arguments are nested deeper than 256 levels',
    })
    expect(parseArguments(nested(1_000_000)).problem).toBe('the arguments are nested deeper than 256 levels')
  })

  test('a problem is short and well-formed, however long the text', () => {
    const million = 'x😀'.repeat(333_333)
    for (const raw of [
      million,
      `"${million}"`,
      `{"a": ${million}}`,
      `{"${million}": 1e999}`,
      `{"${'\\ud83d'.repeat(1_000)}": 1e999}`,
      `{"a": "${million}`,
      '['.repeat(1_000_000),
      '\ud83d',
    ]) {
      const { problem } = parseArguments(raw)
      expect(problem?.length).toBeLessThanOrEqual(300)
      expect(problem?.isWellFormed()).toBe(true)
    }
  })

  test('any text returns an input, and invalid text an empty one', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.object().map((it) => JSON.stringify(it)),
    )
    fc.assert(
      fc.property(texts, (raw) => {
        const { input, problem } = parseArguments(raw)
        if (problem !== undefined) expect(input).toEqual({})
        else expect(input).toEqual(raw.trim() === '' ? {} : JSON.parse(raw))
      }),
    )
  })
})

describe('toolCall', () => {
  test('a valid call has only its input', () => {
    expect(toolCall({ callId: 'c1', name: 'weather', raw: '{"city":"Paris"}' })).toStrictEqual({
      type: 'tool-call',
      callId: 'c1',
      name: 'weather',
      input: { city: 'Paris' },
    })
  })

  test('an invalid call has the problem and the raw text', () => {
    expect(toolCall({ callId: 'c1', name: 'weather', raw: '[1]' })).toStrictEqual({
      type: 'tool-call',
      callId: 'c1',
      name: 'weather',
      input: {},
      problem: 'the arguments must be a JSON object, not an array',
      raw: '[1]',
    })
  })

  test('opaque data is kept with the call', () => {
    const opaque = { provider: 'p', data: { signature: 's' } }
    expect(toolCall({ callId: 'c1', name: 'n', raw: '', opaque })).toStrictEqual({
      type: 'tool-call',
      callId: 'c1',
      name: 'n',
      input: {},
      opaque,
    })
    expect(toolCall({ callId: 'c1', name: 'n', raw: '', opaque: undefined })).not.toHaveProperty('opaque')
  })
})
