import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { isObject } from '../../protocol/index.ts'
import type { FramePattern } from './pattern.ts'
import { framePattern } from './pattern.ts'

interface ReadFrame {
  readonly value: unknown
  readonly sequence: unknown
  /** Whether it was read without parsing. */
  readonly read: boolean
}

/** Reads frames like every API reader, parsing where necessary. */
function readFrames(frames: readonly string[], pattern = framePattern(0)): ReadFrame[] {
  const results: ReadFrame[] = []
  const valueIn = ({ delta }: Readonly<Record<string, unknown>>) =>
    (delta as { text?: unknown } | undefined)?.text
  for (const data of frames) {
    if (pattern.read(data)) continue
    const frame = JSON.parse(data)
    results.push({ value: valueIn(frame), sequence: frame.n, read: false })
    if (!pattern.isLearning()) continue
    pattern.learn({
      data,
      frame,
      key: 'text',
      valueIn,
      sequence: 'n',
      padding: 'pad',
      emit: (value, sequence) => results.push({ value, sequence, read: true }),
    })
  }
  return results
}

/** The last of these frames. */
const last = (...frames: string[]) => readFrames(frames).at(-1)

const frame = (text: string, n = 1, pad = 'xyz') =>
  `{"n":${n},"delta":{"text":"${text}"},"stop":null,"pad":"${pad}"}`

describe('a frame that matches', () => {
  test.each([
    ['text', frame(' there'), ' there', 1],
    ['no text', frame(''), '', 1],
    ['a longer text', frame(' a text that is not short any more'), ' a text that is not short any more', 1],
    ['escapes', frame('a\\n\\"b\\\\\\u00e9'), 'a\n"b\\é', 1],
    ['an escape at the end', frame('\\\\'), '\\', 1],
    ['any script', frame('é🙂日'), 'é🙂日', 1],
    ['another number', frame('a', 1234567), 'a', 1234567],
    ['another padding', frame('a', 1, ''), 'a', 1],
  ])('is read with %s', (_, second, value, sequence) => {
    expect(last(frame('hello'), frame('there', 2, ''), second)).toStrictEqual({ value, sequence, read: true })
  })

  test('may contain spaces', () => {
    const spaced = (text: string) => JSON.stringify({ n: 1, delta: { text }, pad: 'x' }).replaceAll(':', ': ')
    expect(last(spaced('one'), spaced('two'), spaced('three'))).toMatchObject({ value: 'three', read: true })
  })
})

describe('a frame that does not match', () => {
  test.each([
    ['with something else at the end', frame('a').replace('null', '"length"')],
    ['with something else at the start', frame('a').replace('"n"', '"m"')],
    ['that continues', `${frame('a')} `],
    ['that is cut off', frame('a').slice(0, -1)],
    ['that is cut off in its text', frame('abc').slice(0, 25)],
    ['with another field in the text', frame('a","more":"b')],
    ['with a control character in the text', frame('a\tb')],
    ['with an invalid escape', frame('\\q')],
    ['with an escape in the padding', frame('a', 1, '\\n')],
    ['with an invalid number', frame('a').replace('1', '01')],
    ['with a fraction', frame('a').replace('1', '1.5')],
    ['with no number', frame('a').replace('1', '')],
    ['with a negative number', frame('a').replace('1', '-1')],
    ['with a number too long to be exact', frame('a').replace('1', '12345678901234567')],
    ['that is empty', ''],
  ])('is not read: %s', (_, second) => {
    const before = [frame('hello'), frame('there', 2, '')]
    let result: ReadFrame | undefined
    // A frame that cannot be parsed must reach the parser.
    expect(() => {
      result = last(...before, second)
      if (result?.read === false) throw new SyntaxError('parsed')
    }).toThrow(SyntaxError)
  })

  test.each([
    ['the first', [frame('a')]],
    ['one with the same text', [frame('a'), frame('a', 2)]],
    ['one with another shape', [frame('a'), `{"x":1,${frame('b').slice(1)}`]],
  ])('is not read either after %s', (_, before) => {
    expect(last(...before, frame('c', 3))).toMatchObject({ value: 'c', read: false })
  })

  test.each([
    ['a number that is not found', '{"n" : 1,"delta":{"text":"a"}}'],
    ['a number that is not an integer', '{"n":1.5,"delta":{"text":"a"}}'],
    ['a number in another format', '{"n":0e5,"delta":{"text":"a"}}'],
    ['padding that is not found', '{"delta":{"text":"a"},"pad" : "x"}'],
    ['the text again', '{"delta":{"text":"a"},"x":{"text":"a"}}'],
    ['the text again, with a space', '{"delta":{"text": "a"},"x":{"text":"a"}}'],
    ['the same key twice', '{"delta":{"text":"a","text": "a"}}'],
    ['a key that only looks the same', '{"delta":{"te\\u0078t":"a"},"my\\"text":"a"}'],
    ['escaped text', '{"delta":{"text":"\\u0061"}}'],
  ])('is read correctly after one with %s', (_, first) => {
    const changes = [
      first,
      first.replace('"a"', '"b"'),
      first.replace(/"a"(?!.*"a")/, '"b"'),
      first.replaceAll('"a"', '"c"'),
      first.replace(/\d/, '2'),
    ]
    for (const second of changes)
      for (const third of changes) {
        const frames = [first, second, third, second, third]
        const parsed = frames
          .map((data) => JSON.parse(data))
          .map(({ delta, n }) => ({ value: delta.text, sequence: n }))
        expect(readFrames(frames).map(({ value, sequence }) => ({ value, sequence }))).toEqual(parsed)
      }
  })
})

function isJson(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

test('any frame is read exactly as the parser would', () => {
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
        const edit = (data: string) =>
          data.slice(0, change.at) + change.insert + data.slice(change.at + change.remove)
        const frames = [
          whole(one, m, p),
          whole(two, n, q),
          whole(one, n, p),
          edit(whole(two, m, q)),
          whole(two, n, p),
        ]
        const sound = frames.filter((data) => isJson(data) && isObject(JSON.parse(data).delta))
        const parsed = sound
          .map((data) => JSON.parse(data))
          .map(({ delta, n: number }) => ({ value: delta.text, sequence: number }))
        expect(readFrames(sound).map(({ value, sequence }) => ({ value, sequence }))).toEqual(parsed)
      },
    ),
    { numRuns: sized(500) },
  )
})

describe('learning', () => {
  const unlike = (count: number) =>
    Array.from({ length: count }, (_, id) => `{"id":${id},"delta":{"text":"a"}}`)
  const alike = (id: string, words = ['a', 'b', 'c']) =>
    words.map((text) => `{"id":"${id}","delta":{"text":"${text}"}}`)
  const readIn = (frames: readonly string[], pattern?: FramePattern) =>
    readFrames(frames, pattern).filter(({ read }) => read).length

  test('waits for a long answer', () => {
    const words = Array.from({ length: 100 }, (_, at) => `word ${at}`)
    expect(readIn(alike('x', words.slice(0, 30)), framePattern())).toBe(0)
    expect(readIn(alike('x', words), framePattern())).toBeGreaterThan(60)
    // In each of several calls of one answer, too.
    const calls = ['x', 'y', 'z'].flatMap((id) => alike(id, words.slice(0, 10)))
    expect(readIn(calls, framePattern())).toBe(0)
  })

  test('stops if frames never match', () => {
    expect(last(...unlike(5), ...alike('x'))).toMatchObject({ value: 'c', read: true })
    expect(last(...unlike(500), ...alike('x'))).toMatchObject({ value: 'c', read: false })
  })

  test('stops if only a few frames in a row match', () => {
    const threes = Array.from({ length: 100 }, (_, id) => alike(String(id))).flat()
    expect(readIn(threes)).toBeGreaterThan(0)
    expect(readIn(threes)).toBeLessThan(20)
  })

  test('continues through many shapes that repeat', () => {
    const words = Array.from({ length: 20 }, (_, at) => `word ${at}`)
    const shapes = Array.from({ length: 100 }, (_, id) => alike(String(id), words)).flat()
    expect(readIn(shapes)).toBe(100 * (words.length - 2))
  })

  test('is tried again in the rest of a long answer', () => {
    const words = Array.from({ length: 5000 }, (_, at) => `word ${at}`)
    expect(last(...unlike(500), ...alike('x', words))).toMatchObject({ value: 'word 4999', read: true })
  })
})
