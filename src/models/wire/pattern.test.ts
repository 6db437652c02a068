import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { framePattern } from './pattern.ts'

interface Told {
  readonly value: string
  readonly sequence: number | undefined
}

/** A pattern that has learnt one frame, and what it makes of another: nothing, or what it told. */
function afterwards(first: string, second: string): Told | undefined {
  const frame = JSON.parse(first)
  const told: Told[] = []
  const pattern = framePattern()
  pattern.learn({
    data: first,
    frame,
    key: 'text',
    valueIn: ({ delta }) => (delta as { text?: unknown })?.text,
    sequence: 'n',
    padding: 'pad',
    tell: (value, sequence) => told.push({ value, sequence }),
  })
  const read = pattern.read(second)
  expect(told).toHaveLength(read ? 1 : 0)
  return told[0]
}

const frame = (text: string, n = 1, pad = 'xyz') =>
  `{"n":${n},"delta":{"text":"${text}"},"stop":null,"pad":"${pad}"}`

describe('a frame like the one before', () => {
  test.each([
    ['words', frame(' there'), ' there', 1],
    ['no words', frame(''), '', 1],
    ['a longer text', frame(' a text that is not short any more'), ' a text that is not short any more', 1],
    ['escapes', frame('a\\n\\"b\\\\\\u00e9'), 'a\n"b\\é', 1],
    ['an escape at the end', frame('\\\\'), '\\', 1],
    ['any script', frame('é🙂日'), 'é🙂日', 1],
    ['another number', frame('a', 1234567), 'a', 1234567],
    ['another padding', frame('a', 1, ''), 'a', 1],
  ])('is told with %s', (_, second, value, sequence) => {
    expect(afterwards(frame('hello'), second)).toStrictEqual({ value, sequence })
  })

  test('may be written with spaces', () => {
    const spaced = (text: string) => JSON.stringify({ n: 1, delta: { text }, pad: 'x' }).replaceAll(':', ': ')
    expect(afterwards(spaced('one'), spaced('two'))).toMatchObject({ value: 'two' })
  })
})

describe('a frame that is not quite like it', () => {
  test.each([
    ['with something else at the end', frame('a').replace('null', '"length"')],
    ['with something else at the beginning', frame('a').replace('"n"', '"m"')],
    ['that goes on', `${frame('a')} `],
    ['that is cut off', frame('a').slice(0, -1)],
    ['that is cut off in its words', frame('abc').slice(0, 25)],
    ['with one more field in the words', frame('a","more":"b')],
    ['with a line break in the words', frame('a\tb')],
    ['with an escape that is none', frame('\\q')],
    ['with an escape in the padding', frame('a', 1, '\\n')],
    ['with a number that is none', frame('a').replace('1', '01')],
    ['with a fraction', frame('a').replace('1', '1.5')],
    ['with no number', frame('a').replace('1', '')],
    ['with a negative number', frame('a').replace('1', '-1')],
    ['with a number too long to be exact', frame('a').replace('1', '12345678901234567')],
    ['that is empty', ''],
  ])('is not read: %s', (_, second) => {
    expect(afterwards(frame('hello'), second)).toBeUndefined()
  })

  test.each([
    ['a number that is not found', '{"n" : 1,"delta":{"text":"a"}}'],
    ['a number that is not whole', '{"n":1.5,"delta":{"text":"a"}}'],
    ['a number in another form', '{"n":0e5,"delta":{"text":"a"}}'],
    ['padding that is not found', '{"delta":{"text":"a"},"pad" : "x"}'],
    ['the words once more, with a space', '{"delta":{"text": "a"},"x":{"text":"a"}}'],
    ['the words under the same key twice', '{"delta":{"text":"a","text": "a"}}'],
    ['a key that only looks like theirs', '{"delta":{"te\\u0078t":"a"},"my\\"text":"a"}'],
  ])('nor is any after one with %s', (_, first) => {
    for (const second of [first, first.replaceAll('"a"', '"b"'), first.replace('"a"', '"b"')])
      expect(afterwards(first, second)).toBeUndefined()
  })

  test('nor is any if it is not certain where the words stand', () => {
    const twice = (text: string) => `{"delta":{"text":"${text}"},"again":{"text":"${text}"}}`
    expect(afterwards(twice('a'), twice('b'))).toBeUndefined()
    // Written in a way that is not the shortest, they are not found.
    expect(afterwards('{"delta":{"text":"\\u0061"}}', '{"delta":{"text":"b"}}')).toBeUndefined()
  })
})

test('whatever is read means what the parser would have made of it', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 20 })
  const rest = fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  const edit = fc.record({
    at: fc.nat(400),
    remove: fc.nat(4),
    insert: fc.constantFrom('', '"', '\\', ',', '1', '}', 'é', '"text":"', '\n'),
  })
  const maybe = fc.option(fc.constantFrom('pad', 'n', 'rest'), { nil: undefined })
  fc.assert(
    fc.property(
      word,
      word,
      rest,
      fc.nat(2000),
      fc.nat(2000),
      word,
      word,
      edit,
      maybe,
      (one, two, more, m, n, p, q, change, less) => {
        const whole = (text: string, number: number, pad: string) =>
          JSON.stringify(
            { ...more, n: number, delta: { text, ...more }, pad },
            less && ((key, value) => (key === less ? undefined : value)),
          )
        const written = whole(two, n, q)
        const edited = written.slice(0, change.at) + change.insert + written.slice(change.at + change.remove)
        for (const second of [written, edited]) {
          const told = afterwards(whole(one, m, p), second)
          if (!told) continue
          const { delta, n: number } = JSON.parse(second)
          expect(delta.text).toBe(told.value)
          expect(number).toBe(told.sequence ?? number)
          // Nothing but the three values is different.
          const same = (data: string) => ({
            ...JSON.parse(data),
            n: 0,
            pad: '',
            delta: { ...JSON.parse(data).delta, text: '' },
          })
          expect(same(second)).toStrictEqual(same(whole(one, m, p)))
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('frames that are never alike are not learnt for ever', () => {
  const pattern = framePattern()
  const told: string[] = []
  const learn = (data: string) =>
    pattern.learn({
      data,
      frame: JSON.parse(data),
      key: 'text',
      valueIn: ({ text }) => text,
      tell: (value) => told.push(value),
    })
  const numbered = (id: number, text = 'a') => `{"id":${id},"text":"${text}"}`
  for (let id = 0; id < 10; id++) learn(numbered(id))
  expect(pattern.read(numbered(9, 'b'))).toBe(true)
  for (let id = 0; id < 1000; id++) learn(numbered(id))
  expect(pattern.read(numbered(999, 'c'))).toBe(false)
  expect(told).toStrictEqual(['b'])
})
