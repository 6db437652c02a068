import { expect, test } from 'vitest'
import { tokenBucket } from './token-bucket.ts'

test('allows a burst, then the given rate, and returns the time until the next token', () => {
  let time = 0
  const bucket = tokenBucket({ perSecond: 10, burst: 3, now: () => time })
  expect([bucket.take(), bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 0, 100])
  time = 60
  expect(bucket.take()).toBe(40)
  time = 100
  expect([bucket.take(), bucket.take()]).toEqual([0, 100])
  expect(bucket.isFull()).toBe(false)
  expect(bucket.fullInMs()).toBe(300)
  time = 1000
  expect([bucket.isFull(), bucket.fullInMs()]).toEqual([true, 0])
  expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 0])
  expect(bucket.take()).toBeGreaterThan(0)
})
