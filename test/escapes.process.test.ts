import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  expectHarmless,
  expectRejected,
  type Fixture,
  openFixture,
  resultsIn,
  wordsOf,
} from './escapes-fixture.ts'
import { allowed, forbidden, links, otherPages, paths, privatePages } from './escapes-rows.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await openFixture()
})
afterAll(() => fixture.close())

describe('a path that leads out is rejected', () => {
  test.for(paths)('%s', async (row) => void (await expectRejected(fixture, row)))
})

describe('a link that leads out is rejected', () => {
  test.for(links)('%s', async (row) => void (await expectRejected(fixture, row)))
})

describe('a path that a rule denies is denied', () => {
  test.for(forbidden)('%s', async (row) => {
    expect(wordsOf(await expectRejected(fixture, row))).toContain('not allowed here (rule: ')
  })
})

describe('a page that is not public is rejected', () => {
  test.for(privatePages)('%s', async (row) => {
    expect(wordsOf(await expectRejected(fixture, row))).toContain('only public addresses can be fetched')
  })
})

describe('another page that may not be fetched is rejected', () => {
  test.for(otherPages)('%s', async (row) => void (await expectRejected(fixture, row)))
})

describe('the same agent can do what the rules allow', () => {
  test.for(allowed)('%s', async ([, call, expected]) => {
    const [result] = resultsIn(await expectHarmless(fixture, () => fixture.run([call])))
    expect(result).toMatchObject({ isError: false, status: 'ok' })
    expect(wordsOf(result)).toMatch(expected)
  })
})
