import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { sseReader } from './sse.ts'

type Item = [data: string, event: string] | number

const encoder = new TextEncoder()

function read(chunks: readonly Uint8Array[], { ended = true, maxChars }: ReadOptions = {}): Item[] {
  const items: Item[] = []
  const reader = sseReader((data, event) => items.push([data, event]), {
    onRetry: (ms) => items.push(ms),
    ...(maxChars && { maxChars }),
  })
  for (const chunk of chunks) reader.push(chunk)
  if (ended) reader.end()
  return items
}

interface ReadOptions {
  readonly ended?: boolean
  readonly maxChars?: number
}

const readText = (text: string, options?: ReadOptions) => read([encoder.encode(text)], options)

/** The same stream, parsed by another implementation of the specification. */
function specified(bytes: Uint8Array): Item[] {
  const items: Item[] = []
  const parser = createParser({
    onEvent: ({ data, event = '' }) => items.push([data, event]),
    onRetry: (ms) => items.push(ms),
  })
  parser.feed(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  return items
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

/** Splits bytes at these positions, each a fraction of the length. */
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
  test('follow the specification', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        // Without `end()`, which goes beyond the specification.
        expect(read([bytes], { ended: false })).toStrictEqual(specified(bytes))
      }),
      { numRuns: sized(3000) },
    )
  })

  test('do not depend on how the bytes are split', () => {
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

  test('do not depend on the split either if the bytes are not valid UTF-8', () => {
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

  test('that lack the final blank line are emitted by end(), once', () => {
    for (const ending of ['', '\n', '\r', '\r\n', '\n\n', '\r\n\r\n', '\r\r'])
      expect(readText(`event: a\ndata: one\ndata: two${ending}`)).toStrictEqual([['one\ntwo', 'a']])
  })

  test('are not emitted before the blank line, nor without data', () => {
    expect(readText('data: one\ndata: tw', { ended: false })).toStrictEqual([])
    expect(readText('event: a\nid: 4\n: well')).toStrictEqual([])
    expect(readText('')).toStrictEqual([])
  })

  test.each([
    ['LF', 'event: a\ndata: 1\n\ndata: 2\n\n'],
    ['CRLF', 'event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n'],
    ['CR', 'event: a\rdata: 1\r\rdata: 2\r\r'],
    ['all of them', 'event: a\rdata: 1\n\r\ndata: 2\r\n\n'],
  ])('are the same with %s line endings', (_, text) => {
    expect(readText(text)).toStrictEqual([
      ['1', 'a'],
      ['2', ''],
    ])
  })

  test('lose one byte order mark at the start, but none elsewhere', () => {
    expect(readText('\ufeffdata: 1\n\n')).toStrictEqual([['1', '']])
    expect(readText('data: \ufeff1\n\n\ufeffdata: 2\n\n')).toStrictEqual([['\ufeff1', '']])
    expect(readText('\ufeff\ufeffdata: 1\n\n')).toStrictEqual([])
  })

  test('lose only one leading space, and may have empty data', () => {
    expect(readText('data:  a \n\ndata\n\ndata:\n\ndata:\ndata\n\n')).toStrictEqual([
      [' a ', ''],
      ['', ''],
      ['', ''],
      ['\n', ''],
    ])
  })

  test('use the last event name given, and reset it for the next event', () => {
    expect(readText('event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\n')).toStrictEqual([
      ['1', 'b'],
      ['2', ''],
      ['3', ''],
    ])
  })
})

describe('an event that is too long', () => {
  const tooLong = /an event exceeds 100 characters/
  const long = encoder.encode(`data: ${'x'.repeat(200)}`)

  test('is rejected before its line ends, in one chunk or byte by byte', () => {
    expect(() => read([long], { maxChars: 100 })).toThrow(tooLong)
    expect(() =>
      read(
        Array.from(long, (byte) => Uint8Array.of(byte)),
        { maxChars: 100 },
      ),
    ).toThrow(tooLong)
  })

  test('is rejected too if it has many short lines, or is an endless comment', () => {
    expect(() => readText('data: 0123456789\n'.repeat(12), { maxChars: 100 })).toThrow(tooLong)
    expect(() => readText('data\n'.repeat(200), { maxChars: 100 })).toThrow(tooLong)
    expect(() => readText(`:${'x'.repeat(200)}`, { maxChars: 100 })).toThrow(tooLong)
  })

  test('is not the same as many short events: the count restarts with each', () => {
    const many = 'data: 0123456789\n: a comment\n\n'.repeat(50)
    expect(readText(many, { maxChars: 100 })).toHaveLength(50)
    const chunks = Array.from(encoder.encode(many), (byte) => Uint8Array.of(byte))
    expect(read(chunks, { maxChars: 100 })).toHaveLength(50)
  })
})

/** Counts the characters that string and array methods go through during `run`. */
function charactersTouched(run: () => void): number {
  let touched = 0
  const methods = ['indexOf', 'includes', 'replace', 'slice', 'startsWith', 'endsWith'] as const
  const originals = methods.map((name) => String.prototype[name])
  const { join } = Array.prototype
  for (const [at, name] of methods.entries()) {
    const method = originals[at] as (this: string, ...args: unknown[]) => unknown
    Object.defineProperty(String.prototype, name, {
      configurable: true,
      writable: true,
      value(this: string, ...args: unknown[]) {
        // A slice shares the text, and the others read only a few characters; only searches scan
        // it.
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
      Object.defineProperty(String.prototype, name, {
        configurable: true,
        writable: true,
        value: originals[at],
      })
    Array.prototype.join = join
  }
  return touched
}

describe('the cost of a character', () => {
  const byteByByte = (text: string) => {
    const bytes = encoder.encode(text)
    return () => read(Array.from(bytes, (byte) => Uint8Array.of(byte)))
  }

  test('does not depend on the length of its line, nor on the size of the chunks', () => {
    const line = (length: number) => byteByByte(`data: ${'x'.repeat(length)}\n\n`)
    const [short, long] = [charactersTouched(line(1000)), charactersTouched(line(16_000))]
    expect(short).toBeGreaterThan(1000)
    expect(long).toBeLessThan(short * 17)
  })

  test('does not depend on how many lines its event has', () => {
    const lines = (count: number) => byteByByte(`${'data: x\n'.repeat(count)}\n`)
    expect(charactersTouched(lines(4000))).toBeLessThan(charactersTouched(lines(250)) * 17)
  })
})
