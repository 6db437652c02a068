import { describe, expect, test } from 'vitest'
import type { PcmReader } from './wav.ts'
import { rawReader, wavReader } from './wav.ts'

const sound = Int16Array.from([1, -2, 300, -32_768, 32_767, 0, 7])

describe.each([1, 2, 3, 5, 1000])('read %d bytes at a time', (size) => {
  test('reads raw samples', () => {
    expect(readAll(rawReader(8000), bytesOf(sound), size)).toEqual([...sound])
  })

  test('reads the samples of a WAV file, and nothing else', () => {
    const reader = wavReader()
    expect(
      readAll(reader, wav({ before: chunk('LIST', 'odd'), after: chunk('LIST', 'later') }), size),
    ).toEqual([...sound])
    expect(reader.sampleRate).toBe(22_050)
    reader.end()
  })

  test.each([0, 0x7ffff000, 0xffffffff])('a length of %d means until the end', (length) => {
    const reader = wavReader()
    expect(readAll(reader, wav({ length }), size)).toEqual([...sound])
    reader.end()
  })

  test('averages two channels', () => {
    const stereo = Int16Array.from([10, 20, -5, 5, 32_767, 32_767, -7, -9])
    expect(readAll(wavReader(), wav({ channels: 2, sound: stereo }), size)).toEqual([15, 0, 32_767, -8])
  })
})

test('reports half a sample at the end', () => {
  const reader = rawReader(8000)
  expect([...reader.push(Uint8Array.of(1, 0, 2))]).toEqual([1])
  expect(() => reader.end()).toThrow('the audio ends early')
})

test('reports a WAV file that is shorter than its length', () => {
  const reader = wavReader()
  reader.push(wav().subarray(0, -2))
  expect(() => reader.end()).toThrow('the audio ends early')
})

test('reports an incomplete header', () => {
  const reader = wavReader()
  reader.push(wav().subarray(0, 30))
  expect(reader.sampleRate).toBeUndefined()
  expect(() => reader.end()).toThrow('the audio ends early')
})

test.each([
  ['ID3 and more', new TextEncoder().encode('ID3 and more'), /starts with "ID3 "/],
  ['another RIFF', new TextEncoder().encode('RIFF0000AVI more'), /another RIFF format/],
  ['8 bits', wav({ bits: 8 }), /8-bit samples/],
  ['floats', wav({ kind: 3 }), /in format 3/],
  ['no format', wav({ withFormat: false }), /no format chunk/],
  [
    'too much before the audio',
    wav({ before: chunk('LIST', 'x'.repeat(70_000)) }).subarray(0, 69_000),
    /no audio data/,
  ],
])('rejects %s', (_, bytes, message) => {
  expect(() => wavReader().push(bytes)).toThrow(message)
})

function readAll(reader: PcmReader, bytes: Uint8Array, size: number): number[] {
  const samples: number[] = []
  for (let at = 0; at < bytes.length; at += size) samples.push(...reader.push(bytes.subarray(at, at + size)))
  return samples
}

function bytesOf(samples: Int16Array): Uint8Array {
  return new Uint8Array(samples.buffer)
}

interface Wav {
  readonly sound?: Int16Array
  readonly channels?: number
  readonly bits?: number
  readonly kind?: number
  readonly length?: number
  readonly before?: Uint8Array
  readonly after?: Uint8Array
  readonly withFormat?: boolean
}

function wav(options: Wav = {}): Uint8Array {
  const { channels = 1, bits = 16, kind = 1, withFormat = true } = options
  const data = bytesOf(options.sound ?? sound)
  const { length = data.length, before = new Uint8Array(), after = new Uint8Array() } = options
  const format = new DataView(new ArrayBuffer(16))
  format.setUint16(0, kind, true)
  format.setUint16(2, channels, true)
  format.setUint32(4, 22_050, true)
  format.setUint16(14, bits, true)
  const head = chunk('data', '')
  new DataView(head.buffer).setUint32(4, length, true)
  return Buffer.concat([
    Buffer.from('RIFF....WAVE'),
    before,
    ...(withFormat ? [chunk('fmt ', new Uint8Array(format.buffer))] : []),
    head,
    data,
    after,
  ])
}

function chunk(name: string, content: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const all = new Uint8Array(8 + bytes.length + (bytes.length % 2))
  all.set(new TextEncoder().encode(name))
  new DataView(all.buffer).setUint32(4, bytes.length, true)
  all.set(bytes, 8)
  return all
}
