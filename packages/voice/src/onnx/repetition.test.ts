import { expect, test } from 'vitest'
import { repetitionStart } from './repetition.ts'

test('keeps an endless repetition once', () => {
  expect(repetitionStart([9, 8, ...Array(12).fill(5)])).toBe(3)
  expect(repetitionStart([9, 8, ...Array(4).fill([5, 6, 7]).flat()])).toBe(5)
  // Even if the last occurrence is incomplete.
  expect(repetitionStart([9, ...Array(5).fill([5, 6, 7]).flat(), 5])).toBe(4)
})

test('keeps repetitions that people really say', () => {
  expect(repetitionStart([])).toBe(undefined)
  expect(repetitionStart([7, 7, 7, 7, 7])).toBe(undefined)
  expect(repetitionStart(Array(3).fill([1, 2, 3, 4, 5]).flat())).toBe(undefined)
  expect(repetitionStart([...Array(12).fill(5), 6])).toBe(undefined)
  expect(repetitionStart(Array.from({ length: 100 }, (_, index) => index % 40))).toBe(undefined)
})
