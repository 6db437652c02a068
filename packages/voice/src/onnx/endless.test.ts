import { expect, test } from 'vitest'
import { endlessFrom } from './endless.ts'

test('what goes round and round is kept once', () => {
  expect(endlessFrom([9, 8, ...Array(12).fill(5)])).toBe(3)
  expect(endlessFrom([9, 8, ...Array(4).fill([5, 6, 7]).flat()])).toBe(5)
  // Also if the last time is not whole.
  expect(endlessFrom([9, ...Array(5).fill([5, 6, 7]).flat(), 5])).toBe(4)
})

test('what people say again is left as it is', () => {
  expect(endlessFrom([])).toBe(undefined)
  expect(endlessFrom([7, 7, 7, 7, 7])).toBe(undefined)
  expect(endlessFrom(Array(3).fill([1, 2, 3, 4, 5]).flat())).toBe(undefined)
  expect(endlessFrom([...Array(12).fill(5), 6])).toBe(undefined)
  expect(endlessFrom(Array.from({ length: 100 }, (_, index) => index % 40))).toBe(undefined)
})
