import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allowed, forbidden, links, otherPages, paths, privatePages } from './escapes-rows.ts'
import { harmless, openWorld, refused, resultsIn, type World, wordsOf } from './escapes-world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

describe('a path that leads out is refused', () => {
  test.for(paths)('%s', async (row) => void (await refused(world, row)))
})

describe('a link that leads out is refused', () => {
  test.for(links)('%s', async (row) => void (await refused(world, row)))
})

describe('what a rule forbids is refused', () => {
  test.for(forbidden)('%s', async (row) => {
    expect(wordsOf(await refused(world, row))).toContain('not allowed here (rule: ')
  })
})

describe('a page that is not public is refused', () => {
  test.for(privatePages)('%s', async (row) => {
    expect(wordsOf(await refused(world, row))).toContain('only public ones may be fetched')
  })
})

describe('a page that may not be fetched is refused', () => {
  test.for(otherPages)('%s', async (row) => void (await refused(world, row)))
})

describe('what the same agent may do works', () => {
  test.for(allowed)('%s', async ([, call, expected]) => {
    const [result] = resultsIn(await harmless(world, () => world.run([call])))
    expect(result).toMatchObject({ isError: false, status: 'ok' })
    expect(wordsOf(result)).toMatch(expected)
  })
})
