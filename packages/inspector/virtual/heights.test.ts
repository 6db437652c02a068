import fc from 'fast-check'
import { expect, test } from 'vitest'
import { heightsOf } from './heights.ts'

test('behaves like a plain list of heights', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('append' as const), height: fc.nat(100), index: fc.constant(0) }),
    fc.record({ kind: fc.constant('set' as const), height: fc.nat(100), index: fc.nat(80) }),
    fc.record({ kind: fc.constant('cut' as const), height: fc.constant(0), index: fc.nat(80) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.nat(4000), (steps, offset) => {
      const heights = heightsOf()
      let plain: number[] = []
      for (const { kind, height, index } of steps) {
        if (kind === 'append') {
          heights.append(height)
          plain.push(height)
        } else if (kind === 'set') {
          heights.set(index, height)
          if (index < plain.length) plain[index] = height
        } else {
          heights.cut(index)
          plain = plain.slice(0, index)
        }
      }
      const before = (index: number) => plain.slice(0, index).reduce((sum, height) => sum + height, 0)
      expect(heights.count).toBe(plain.length)
      for (let index = 0; index <= plain.length; index++) expect(heights.before(index)).toBe(before(index))
      const holder = plain.findIndex((_, index) => before(index + 1) > offset)
      expect(heights.at(offset)).toBe(holder < 0 ? Math.max(0, plain.length - 1) : holder)
    }),
  )
})

test('handles 100,000 rows', () => {
  const heights = heightsOf()
  for (let index = 0; index < 100_000; index++) heights.append(28)
  heights.set(50_000, 100)
  expect(heights.total).toBe(2_800_072)
  expect(heights.at(1_400_099)).toBe(50_000)
  expect(heights.at(1_400_100)).toBe(50_001)
})
