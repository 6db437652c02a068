import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { permission } from '../packages/tools/src/index.ts'
import {
  expectHarmless,
  expectRejected,
  type Fixture,
  openFixture,
  resultsIn,
  wordsOf,
} from './escapes-fixture.ts'
import { denied, lines, operands, ordinary, places, unknownOperands } from './escapes-shell.ts'
import { some } from './size.ts'

let fixture: Fixture

describe('with the rules of a careful agent', () => {
  beforeAll(async () => {
    fixture = await openFixture()
    return () => fixture.close()
  })

  describe('a line that hides a command that no rule allows is denied', () => {
    test.for(lines)('%s', async (row) => {
      expect(await expectRejected(fixture, row)).toMatchObject({
        status: 'blocked',
        permission: { decision: 'deny' },
      })
    })
  })

  describe('a folder outside the workspace is rejected', () => {
    test.for(places)('%s', async (row) => void (await expectRejected(fixture, row)))
  })

  describe('what a rule denies is denied', () => {
    test.for(denied)('%s', async (row) => {
      const result = await expectRejected(fixture, row)
      expect(result.permission?.rule).toContain('deny run(')
      expect(wordsOf(result)).toContain('Do not try to get around this')
    })
  })
})

// They need a current bash and GNU tools.
describe.runIf(process.platform === 'linux')(
  'without rules and sandbox, each of these lines does harm',
  () => {
    beforeAll(async () => {
      fixture = await openFixture()
      return () => fixture.close()
    })
    afterEach(() => fixture.restore())

    test.for(some(lines))('%s', async ([, ...calls]) => {
      const before = fixture.around()
      const events = JSON.stringify(await fixture.run(calls, null))
      await vi.waitUntil(() => events.includes(fixture.secret) || `${fixture.around()}` !== `${before}`)
    })
  },
)

describe('files that rules deny to allowed commands', () => {
  const rules = permission({
    allow: ['run', 'run(*)', 'read', 'write'],
    deny: ['read(**/.env*)', 'write(**/.env*)', 'write(**/.git)'],
  })
  beforeAll(async () => {
    fixture = await openFixture()
    return () => fixture.close()
  })
  afterEach(() => fixture.restore())

  test.for(operands)('are denied: %s', async (row) => {
    const result = await expectRejected(fixture, row, rules)
    expect(result).toMatchObject({ status: 'blocked', permission: { decision: 'deny' } })
    expect(result.permission?.rule).toMatch(/^deny (?:read|write)\(/)
  })

  test.for(unknownOperands)('need approval where they cannot be determined: %s', async ([, ...calls]) => {
    const events = await expectHarmless(fixture, () => fixture.run(calls, rules))
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'approval-request',
        permission: { decision: 'ask', rule: expect.stringMatching(/^ask: may be (?:read|write)\(/) },
      }),
    )
  })

  test.for(ordinary)('do not affect %s', async (command) => {
    const [result] = resultsIn(await fixture.run([['shell', { command }]], rules))
    expect(result).toMatchObject({ isError: false, status: 'ok' })
  })

  test.runIf(process.platform === 'linux').for(some([...operands, ...unknownOperands]))(
    'would be read or changed without rules: %s',
    async ([, ...calls]) => {
      const before = fixture.around()
      const events = JSON.stringify(await fixture.run(calls, null))
      await vi.waitUntil(() => events.includes(fixture.secret) || `${fixture.around()}` !== `${before}`)
    },
  )
})
