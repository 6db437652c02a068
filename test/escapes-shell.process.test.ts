import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { permission } from '../packages/tools/src/index.ts'
import { denied, lines, operands, ordinary, places, unknownOperands } from './escapes-shell.ts'
import { harmless, openWorld, refused, resultsIn, type World, wordsOf } from './escapes-world.ts'
import { some } from './size.ts'

let world: World

describe('with the rules of a careful agent', () => {
  beforeAll(async () => {
    world = await openWorld()
    return () => world.close()
  })

  describe('a line that hides a command no rule allows is refused', () => {
    test.for(lines)('%s', async (row) => {
      expect(await refused(world, row)).toMatchObject({ status: 'blocked', permission: { decision: 'deny' } })
    })
  })

  describe('a place that is not in the workspace is refused', () => {
    test.for(places)('%s', async (row) => void (await refused(world, row)))
  })

  describe('what a rule denies is denied', () => {
    test.for(denied)('%s', async (row) => {
      const result = await refused(world, row)
      expect(result.permission?.rule).toContain('deny run(')
      expect(wordsOf(result)).toContain('Do not try to get around this')
    })
  })
})

// They are written for a bash of today and the tools of GNU.
describe.runIf(process.platform === 'linux')(
  'without rules and sandbox each of these lines does harm',
  () => {
    beforeAll(async () => {
      world = await openWorld()
      return () => world.close()
    })
    afterEach(() => world.restore())

    test.for(some(lines))('%s', async ([, ...calls]) => {
      const before = world.around()
      const events = JSON.stringify(await world.run(calls, null))
      await vi.waitUntil(() => events.includes(world.secret) || `${world.around()}` !== `${before}`)
    })
  },
)

describe('files that rules deny to commands that may run', () => {
  const rules = permission({
    allow: ['run', 'run(*)', 'read', 'write'],
    deny: ['read(**/.env*)', 'write(**/.env*)', 'write(**/.git)'],
  })
  beforeAll(async () => {
    world = await openWorld()
    return () => world.close()
  })
  afterEach(() => world.restore())

  test.for(operands)('are denied: %s', async (row) => {
    const result = await refused(world, row, rules)
    expect(result).toMatchObject({ status: 'blocked', permission: { decision: 'deny' } })
    expect(result.permission?.rule).toMatch(/^deny (?:read|write)\(/)
  })

  test.for(unknownOperands)('are asked about where they cannot be known: %s', async ([, ...calls]) => {
    const events = await harmless(world, () => world.run(calls, rules))
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'approval-request',
        permission: { decision: 'ask', rule: expect.stringMatching(/^ask: may be (?:read|write)\(/) },
      }),
    )
  })

  test.for(ordinary)('are no hindrance to %s', async (command) => {
    const [result] = resultsIn(await world.run([['shell', { command }]], rules))
    expect(result).toMatchObject({ isError: false, status: 'ok' })
  })

  test.runIf(process.platform === 'linux').for(some([...operands, ...unknownOperands]))(
    'would be seen or changed without rules: %s',
    async ([, ...calls]) => {
      const before = world.around()
      const events = JSON.stringify(await world.run(calls, null))
      await vi.waitUntil(() => events.includes(world.secret) || `${world.around()}` !== `${before}`)
    },
  )
})
