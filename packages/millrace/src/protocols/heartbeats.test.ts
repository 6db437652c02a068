import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { beatEvery } from './heartbeats.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('beats come once per interval, the first a little early, and stop', () => {
  const beats: number[] = []
  const start = Date.now()
  const stop = beatEvery(8000, () => beats.push(Date.now() - start))
  vi.advanceTimersByTime(24_500)
  expect(beats).toEqual([8000, 16_000, 24_000])
  let late = 0
  const stopLate = beatEvery(8000, () => late++)
  vi.advanceTimersByTime(6999)
  expect(late).toBe(0)
  vi.advanceTimersByTime(1001)
  expect(late).toBe(1)
  stop()
  stopLate()
  vi.advanceTimersByTime(20_000)
  expect([beats.length, late]).toEqual([4, 1])
})

test('any number of clients share one timer, until the last has left', () => {
  let beats = 0
  const beat = () => beats++
  const stops = Array.from({ length: 1000 }, () => beatEvery(8000, beat))
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(8000)
  expect(beats).toBe(1000)
  for (const stop of stops.slice(1)) stop()
  expect(vi.getTimerCount()).toBe(1)
  stops[0]?.()
  stops[0]?.()
  expect(vi.getTimerCount()).toBe(0)
})

test('a beat may stop itself and others', () => {
  const stops: (() => void)[] = []
  let beats = 0
  for (let count = 0; count < 3; count++)
    stops.push(
      beatEvery(800, () => {
        beats++
        for (const stop of stops) stop()
      }),
    )
  vi.advanceTimersByTime(5000)
  expect([beats, vi.getTimerCount()]).toEqual([1, 0])
})
