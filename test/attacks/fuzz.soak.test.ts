import { afterAll, expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'
import { canTry, openJail } from './jail.ts'
import { openWorld } from './world.ts'

const world = openWorld()
afterAll(() => world.close())

test.runIf(canTry())('lines made out of the table and of common lines do no harm either', async () => {
  const { lines, tried, breach } = await fuzz(world, openJail(world), { seed: 20, count: 600 })
  expect(breach).toBeUndefined()
  expect(lines).toBe(600)
  // Rules that let nothing pass would find nothing.
  expect(tried).toBeGreaterThan(50)
})
