import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clientFrame } from './raw-frames.test-kit.ts'
import { frameHeaderReader } from './socket-inbox.ts'

test('every frame is counted once, for any chunk sizes', () => {
  const frame = fc.record({
    opcode: fc.constantFrom(0, 1, 2, 8, 9, 10),
    length: fc.oneof(fc.nat(130), fc.constantFrom(65_535, 65_536, 70_000)),
  })
  const cuts = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1 })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), cuts, (frames, cuts) => {
      const bytes = Buffer.concat(
        frames.map(({ opcode, length }) => clientFrame(opcode, Buffer.alloc(length, opcode))),
      )
      const counted: number[] = []
      const read = frameHeaderReader((opcode) => counted.push(opcode) > 0)
      for (let at = 0, nth = 0; at < bytes.length; nth++) {
        const end = at + (cuts[nth % cuts.length] as number)
        read(bytes.subarray(at, end))
        at = end
      }
      expect(counted).toEqual(frames.map(({ opcode }) => opcode))
    }),
  )
})
