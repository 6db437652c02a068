import { expect, test, vi } from 'vitest'
import { chunkClock } from './chunk-clock.ts'

/** A clock that has heard so many pieces of an answer, and what it told. */
function heard(pieces: number) {
  const told: number[] = []
  const clock = chunkClock((seconds) => told.push(seconds))
  for (let count = 0; count < pieces; count++) clock.received()
  return { told, clock }
}

test('nothing has come as long as nothing was received', () => {
  expect(heard(0).clock.firstAt).toBeUndefined()
})

test('the first piece is told apart, and stays the first', () => {
  const before = performance.now()
  const { told, clock } = heard(1)
  const { firstAt } = clock
  expect(told).toEqual([])
  expect(firstAt).toBeGreaterThanOrEqual(before)
  clock.received()
  expect(clock.firstAt).toBe(firstAt)
  expect(told).toEqual([expect.any(Number)])
})

test.each([
  [2, 1],
  [65, 64],
  [66, 64],
  [67, 65],
  [1 + 64 + 128, 128],
  [1 + 64 + 128 + 256, 192],
  [1 + 64 * (2 ** 10 - 1), 640],
])('of %i pieces %i pauses are told: of a long answer ever fewer', (pieces, pauses) => {
  const { told } = heard(pieces)
  expect(told).toHaveLength(pauses)
  for (const seconds of told) expect(seconds).toBeGreaterThanOrEqual(0)
})

test('a pause that is told is that before the piece, not that since the last one told', () => {
  let now = 0
  const time = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000))
  const { told } = heard(70)
  time.mockRestore()
  expect(told).toEqual(told.map(() => 1))
})
