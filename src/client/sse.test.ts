import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sseReader } from './sse.ts'

type Told = [data: string, name: string] | number

const encoder = new TextEncoder()

function read(chunks: readonly Uint8Array[], maxChars?: number): Told[] {
  const told: Told[] = []
  const listener = {
    event: (data: string, name: string) => told.push([data, name]),
    retry: (ms: number) => told.push(ms),
  }
  const reader = sseReader(listener, maxChars ? { maxChars } : {})
  for (const chunk of chunks) reader.push(chunk)
  return told
}

const readText = (text: string) => read([encoder.encode(text)])

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

const field = fc.constantFrom('data', 'data', 'event', 'id', 'retry', '', 'Data', ' data')
const words = fc.oneof(
  fc.constantFrom('', ' ', '  x', 'a:b', ': c', '12', '12x', '{"a":"é"}', '\ufeff', '日本語 🙂', '\u2028'),
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => text.replace(/[\r\n]/g, '')),
)
const line = fc.oneof(
  fc.tuple(field, fc.constantFrom(':', ': ', ':  ', ''), words).map((all) => all.join('')),
  fc.constant(''),
)
const stream = fc
  .array(
    fc.tuple(line, fc.constantFrom('\n', '\n', '\r', '\r\n')).map((all) => all.join('')),
    { maxLength: 12 },
  )
  .chain((lines) => fc.constantFrom('', '\ufeff').map((mark) => encoder.encode(mark + lines.join(''))))

describe('server-sent events', () => {
  test('are read as the specification says', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        expect(read([bytes])).toEqual(specified(bytes))
      }),
      { numRuns: 500 },
    )
  })

  test('are the same in any split of their bytes', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 8 }), (bytes, places) => {
        const cuts = [0, ...places.filter((at) => at <= bytes.length).sort((a, b) => a - b), bytes.length]
        const chunks = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end))
        expect(read(chunks)).toEqual(read([bytes]))
        expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(read([bytes]))
      }),
      { numRuns: 500 },
    )
  })

  test('comments and fields of other names are read over', () => {
    expect(readText(': heartbeat\n\nid: 7\nwhat: x\ndata: {}\n\n')).toEqual([['{}', '']])
  })

  test('one that has no blank line after it yet is not told', () => {
    expect(readText('data: 1\n\ndata: 2\n')).toEqual([['1', '']])
  })

  test('one that grows past all bounds is an error, in one line or in many', () => {
    expect(() => read([encoder.encode('data: 12345678901')], 10)).toThrow('longer than 10 characters')
    const lines = Array.from({ length: 8 }, () => encoder.encode('data: 1\n'))
    expect(() => read(lines, 10)).toThrow('longer than 10 characters')
    const small = Array.from({ length: 8 }, () => encoder.encode('data: 1\n\n'))
    expect(read(small, 10)).toHaveLength(8)
    const inPieces = Array.from({ length: 8 }, () => ['data', ': 1\n', '\n']).flat()
    expect(
      read(
        inPieces.map((piece) => encoder.encode(piece)),
        10,
      ),
    ).toHaveLength(8)
  })
})
