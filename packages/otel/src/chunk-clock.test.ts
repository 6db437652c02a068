import { expect, test, vi } from 'vitest'
import { chunkClock } from './chunk-clock.ts'

/** A clock that has received this many chunks, and the intervals it recorded. */
function received(chunks: number) {
  const intervals: number[] = []
  const clock = chunkClock((seconds) => intervals.push(seconds))
  for (let count = 0; count < chunks; count++) clock.received()
  return { intervals, clock }
}

test('firstAt is undefined before the first chunk', () => {
  expect(received(0).clock.firstAt).toBeUndefined()
})

test('the first chunk sets firstAt and records no interval', () => {
  const before = performance.now()
  const { intervals, clock } = received(1)
  const { firstAt } = clock
  expect(intervals).toEqual([])
  expect(firstAt).toBeGreaterThanOrEqual(before)
  clock.received()
  expect(clock.firstAt).toBe(firstAt)
  expect(intervals).toEqual([expect.any(Number)])
})

test.each([
  [2, 1],
  [65, 64],
  [66, 64],
  [67, 65],
  [1 + 64 + 128, 128],
  [1 + 64 + 128 + 256, 192],
  [1 + 64 * (2 ** 10 - 1), 640],
])('%i chunks: %i intervals are recorded, ever fewer of a long answer', (chunks, count) => {
  const { intervals } = received(chunks)
  expect(intervals).toHaveLength(count)
  for (const seconds of intervals) expect(seconds).toBeGreaterThanOrEqual(0)
})

test('an interval starts at the previous chunk, not at the last recorded one', () => {
  let now = 0
  const time = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000))
  const { intervals } = received(70)
  time.mockRestore()
  expect(intervals).toEqual(intervals.map(() => 1))
})
