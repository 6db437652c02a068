import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AudioFrame } from './voice.ts'
import { readAudioFrame, writeAudioFrame } from './voice.ts'

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })

test('an audio frame can be read back from any byte offset', () => {
  const frames = fc.record({
    kind: fc.constantFrom('speech', 'microphone'),
    turn: u32,
    seq: u32,
    position: u32,
    pcm: fc.int16Array({ maxLength: 50 }),
  })
  fc.assert(
    fc.property(frames, fc.nat({ max: 3 }), (frame, shift) => {
      const bytes = writeAudioFrame(frame as AudioFrame)
      const moved = new Uint8Array(bytes.length + shift)
      moved.set(bytes, shift)
      expect(readAudioFrame(moved.subarray(shift))).toEqual(frame)
    }),
  )
})

test('the bytes match the protocol', () => {
  const bytes = writeAudioFrame({
    kind: 'microphone',
    turn: 1,
    seq: 0x0203,
    position: 0x04050607,
    pcm: Int16Array.of(-2),
  })
  expect([...bytes]).toEqual([1, 2, 0, 0, 1, 0, 0, 0, 3, 2, 0, 0, 7, 6, 5, 4, 0xfe, 0xff])
})

test('the error says what is wrong with an invalid frame', () => {
  const good = writeAudioFrame({ kind: 'speech', turn: 1, seq: 0, position: 0, pcm: Int16Array.of(1) })
  const changed = (at: number, value: number) => good.with(at, value)
  expect(readAudioFrame(good.subarray(0, 15))).toBe(
    'an audio frame has a header of 16 bytes, but this one has only 15 bytes',
  )
  expect(readAudioFrame(changed(0, 9))).toMatch('must start with its version, 1, not 9')
  expect(readAudioFrame(changed(1, 3))).toMatch('1 for speech or 2 for a microphone, not 3')
  expect(readAudioFrame(good.subarray(0, 17))).toMatch('number of bytes is odd')
})
