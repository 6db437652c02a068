import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import type { Delivery } from './deliveries.ts'
import { pace } from './pace.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Handing out takes `ms`. */
function paced(ms: number) {
  const seen: number[][] = []
  const { add, flush } = pace(({ entries }) => {
    vi.advanceTimersByTime(ms)
    seen.push(entries.map(({ seq }) => seq))
  })
  const deliver = (seq: number, { urgent = false, bytes = 100 } = {}) =>
    add({ entries: [{ seq } as Entry], bytes } satisfies Delivery, urgent)
  return { seen, deliver, flush }
}

test('after a long delivery, the next ones come together', () => {
  const { seen, deliver } = paced(5)
  deliver(1)
  expect(seen).toEqual([[1]])
  deliver(2)
  vi.advanceTimersByTime(20)
  deliver(3)
  vi.advanceTimersByTime(19)
  expect(seen).toEqual([[1]])
  vi.advanceTimersByTime(1)
  expect(seen).toEqual([[1], [2, 3]])
  vi.advanceTimersByTime(1000)
  deliver(4)
  expect(seen).toEqual([[1], [2, 3], [4]])
})

test('what must not wait takes along what waits, in order', () => {
  const { seen, deliver, flush } = paced(1000)
  deliver(1)
  deliver(2)
  deliver(3, { urgent: true })
  expect(seen).toEqual([[1], [2, 3]])
  deliver(4)
  deliver(5, { bytes: 20_000 })
  expect(seen.at(-1)).toEqual([4, 5])
  deliver(6)
  flush()
  flush()
  expect(seen.at(-1)).toEqual([6])
  expect(vi.getTimerCount()).toBe(0)
})

test('a rest is short: 50 ms', () => {
  const { seen, deliver } = paced(1000)
  deliver(1)
  deliver(2)
  vi.advanceTimersByTime(50)
  expect(seen).toEqual([[1], [2]])
})
