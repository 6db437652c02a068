import { afterAll, expect, test } from 'vitest'
import { openFixture } from './fixture.ts'
import { fuzz } from './fuzz.ts'
import { canTry, openJail } from './jail.ts'

const fixture = openFixture()
afterAll(() => fixture.close())

test.runIf(canTry())('lines generated from the table and from common lines do no harm either', async () => {
  const { lines, tried, breach } = await fuzz(fixture, openJail(fixture), { seed: 20, count: 600 })
  expect(breach).toBeUndefined()
  expect(lines).toBe(600)
  // Rules that allow nothing would find nothing.
  expect(tried).toBeGreaterThan(50)
})
