import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { sseReader } from './sse.ts'

type Told = [data: string, event: string] | number

const encoder = new TextEncoder()

function read(chunks: readonly Uint8Array[], { ended = true, maxChars }: ReadOptions = {}): Told[] {
  const told: Told[] = []
  const reader = sseReader((data, event) => told.push([data, event]), {
    onRetry: (ms) => told.push(ms),
    ...(maxChars && { maxChars }),
  })
  for (const chunk of chunks) reader.push(chunk)
  if (ended) reader.end()
  return told
}

interface ReadOptions {
  readonly ended?: boolean
  readonly maxChars?: number
}

const readText = (text: string, options?: ReadOptions) => read([encoder.encode(text)], options)

/** What the specification says of a stream, as another implementation of it understands it. */
function specified(bytes: Uint8Array): Told[] {
  const told: Told[] = []
  const parser = createParser({
    onEvent: ({ data, event = '' }) => told.push([data, event]),
    onRetry: (ms) => told.push(ms),
  })
  parser.feed(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  return told
}

const words = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '  x',
    'a:b',
    ': c',
    '\u0000',
    '12',
    '12x',
    '{"a":"é"}',
    'data',
    '\ufeff',
    '日本語 🙂',
    '\u2028',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => text.replace(/[\r\n]/g, '')),
)
const field = fc.constantFrom('data', 'event', 'id', 'retry', '', 'Data', 'datas', 'x', ' data')
const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(field, fc.constantFrom(':', ': ', ':  ', ''), words).map((all) => all.join('')),
  },
  { weight: 3, arbitrary: words.map((text) => `data: ${text}`) },
  { weight: 4, arbitrary: fc.constant('') },
)
const lineEnd = fc.constantFrom('\n', '\n', '\r', '\r\n')
const stream = fc
  .tuple(
    fc.constantFrom('', '', '\ufeff', '\ufeff\ufeff'),
    fc.array(fc.tuple(line, lineEnd), { maxLength: 14 }),
  )
  .map(([mark, lines]) => encoder.encode(mark + lines.flat().join('')))

/** Bytes cut at these places, each a share of the length. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const marks = [
    0,
    ...places.map((place) => Math.floor(place * bytes.length)).sort((a, b) => a - b),
    bytes.length,
  ]
  return marks.slice(1).map((mark, at) => bytes.subarray(marks[at], mark))
}

const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 })

describe('server-sent events', () => {
  test('are what the specification says', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        // Without the end of the connection there is no difference at all.
        expect(read([bytes], { ended: false })).toStrictEqual(specified(bytes))
      }),
      { numRuns: sized(3000) },
    )
  })

  test('do not depend on how the bytes were split', () => {
    fc.assert(
      fc.property(stream, shares, (bytes, places) => {
        const whole = read([bytes])
        expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toStrictEqual(whole)
        expect(read(cut(bytes, places))).toStrictEqual(whole)
        for (let at = 0; at <= bytes.length; at++)
          expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toStrictEqual(whole)
      }),
      { numRuns: sized(300) },
    )
  })

  test('do not depend on the split either when the bytes are not UTF-8', () => {
    const pieces = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc.constantFrom(
        ...['data: ', '\n', '\n\n', '\r', '\ufeff', 'é', '🙂'].map((text) => encoder.encode(text)),
      ),
    )
    const bytes = fc
      .array(pieces, { maxLength: 12 })
      .map((list) => Uint8Array.from(list.flatMap((one) => [...one])))
    fc.assert(
      fc.property(bytes, shares, (all, places) => {
        const whole = read([all])
        expect(read(Array.from(all, (byte) => Uint8Array.of(byte)))).toStrictEqual(whole)
        expect(read(cut(all, places))).toStrictEqual(whole)
      }),
      { numRuns: sized(1000) },
    )
  })

  test('that lack the blank line at the end are still told, once', () => {
    for (const ending of ['', '\n', '\r', '\r\n', '\n\n', '\r\n\r\n', '\r\r'])
      expect(readText(`event: a\ndata: one\ndata: two${ending}`)).toStrictEqual([['one\ntwo', 'a']])
  })

  test('are not told before the blank line, nor after the end without data', () => {
    expect(readText('data: one\ndata: tw', { ended: false })).toStrictEqual([])
    expect(readText('event: a\nid: 4\n: well')).toStrictEqual([])
    expect(readText('')).toStrictEqual([])
  })

  test.each([
    ['LF', 'event: a\ndata: 1\n\ndata: 2\n\n'],
    ['CRLF', 'event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n'],
    ['CR', 'event: a\rdata: 1\r\rdata: 2\r\r'],
    ['all of them', 'event: a\rdata: 1\n\r\ndata: 2\r\n\n'],
  ])('are the same with %s at the ends of lines', (_, text) => {
    expect(readText(text)).toStrictEqual([
      ['1', 'a'],
      ['2', ''],
    ])
  })

  test('lose one byte order mark at the start, and none elsewhere', () => {
    expect(readText('\ufeffdata: 1\n\n')).toStrictEqual([['1', '']])
    expect(readText('data: \ufeff1\n\n\ufeffdata: 2\n\n')).toStrictEqual([['\ufeff1', '']])
    expect(readText('\ufeff\ufeffdata: 1\n\n')).toStrictEqual([])
  })

  test('keep all but one space, and have empty data where a line says so', () => {
    expect(readText('data:  a \n\ndata\n\ndata:\n\ndata:\ndata\n\n')).toStrictEqual([
      [' a ', ''],
      ['', ''],
      ['', ''],
      ['\n', ''],
    ])
  })

  test('take the last name given, and forget it with the event', () => {
    expect(readText('event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\n')).toStrictEqual([
      ['1', 'b'],
      ['2', ''],
      ['3', ''],
    ])
  })
})

describe('an event that is too long', () => {
  const tooLong = /one event has over 100 characters/
  const long = encoder.encode(`data: ${'x'.repeat(200)}`)

  test('is refused, in one piece and in drips, before its line ends', () => {
    expect(() => read([long], { maxChars: 100 })).toThrow(tooLong)
    expect(() =>
      read(
        Array.from(long, (byte) => Uint8Array.of(byte)),
        { maxChars: 100 },
      ),
    ).toThrow(tooLong)
  })

  test('is refused as well when it comes in many short lines, or as a comment without end', () => {
    expect(() => readText('data: 0123456789\n'.repeat(12), { maxChars: 100 })).toThrow(tooLong)
    expect(() => readText('data\n'.repeat(200), { maxChars: 100 })).toThrow(tooLong)
    expect(() => readText(`:${'x'.repeat(200)}`, { maxChars: 100 })).toThrow(tooLong)
  })

  test('does not mean many short ones: the count begins anew with each', () => {
    const many = 'data: 0123456789\n: a comment\n\n'.repeat(50)
    expect(readText(many, { maxChars: 100 })).toHaveLength(50)
    const drips = Array.from(encoder.encode(many), (byte) => Uint8Array.of(byte))
    expect(read(drips, { maxChars: 100 })).toHaveLength(50)
  })
})

/** Counts the characters that the methods of strings and lists go through while something runs. */
function charactersTouched(run: () => void): number {
  let touched = 0
  const methods = ['indexOf', 'includes', 'replace', 'slice', 'startsWith', 'endsWith'] as const
  const kept = methods.map((name) => String.prototype[name])
  const { join } = Array.prototype
  for (const [at, name] of methods.entries()) {
    const method = kept[at] as (this: string, ...args: unknown[]) => unknown
    Object.defineProperty(String.prototype, name, {
      configurable: true,
      writable: true,
      value(this: string, ...args: unknown[]) {
        // A slice shares the text, and the others look at a few characters; only searches go through it.
        if (name === 'indexOf') touched += this.length - (Number(args[1]) || 0)
        if (name === 'includes' || name === 'replace') touched += this.length
        return method.apply(this, args)
      },
    })
  }
  Array.prototype.join = function (separator) {
    const joined = join.call(this, separator)
    touched += joined.length
    return joined
  }
  try {
    run()
  } finally {
    for (const [at, name] of methods.entries())
      Object.defineProperty(String.prototype, name, { configurable: true, writable: true, value: kept[at] })
    Array.prototype.join = join
  }
  return touched
}

describe('the cost of a character', () => {
  const drip = (text: string) => {
    const bytes = encoder.encode(text)
    return () => read(Array.from(bytes, (byte) => Uint8Array.of(byte)))
  }

  test('does not depend on how long its line is, nor on how many bytes come at once', () => {
    const line = (length: number) => drip(`data: ${'x'.repeat(length)}\n\n`)
    const [short, long] = [charactersTouched(line(1000)), charactersTouched(line(16_000))]
    expect(short).toBeGreaterThan(1000)
    expect(long).toBeLessThan(short * 17)
  })

  test('does not depend on how many lines its event has', () => {
    const lines = (count: number) => drip(`${'data: x\n'.repeat(count)}\n`)
    expect(charactersTouched(lines(4000))).toBeLessThan(charactersTouched(lines(250)) * 17)
  })
})
