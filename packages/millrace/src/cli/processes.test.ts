import { expect, test } from 'vitest'
import { restartDelay } from './processes.ts'

test('the delay before a restart grows while processes die soon, and is reset after one has lived', () => {
  const delays = [0]
  for (let deaths = 0; deaths < 10; deaths++) delays.push(restartDelay(delays.at(-1) ?? 0, 500))
  expect(delays.slice(0, 4)).toEqual([0, 200, 400, 800])
  expect(delays.at(-1)).toBe(30_000)
  expect(restartDelay(30_000, 60_000)).toBe(0)
})
