import { expect, test } from 'vitest'
import type { Amounts, Limits } from '../protocol/index.ts'
import type { BudgetUse } from './holds.ts'
import { decideHold } from './holds.ts'

const nothing = { usd: 0, tokens: 0, rounds: 0, toolCalls: 0, ms: 0 }
const use = (limits: Limits, spent: Partial<Amounts> = {}, held?: Limits): BudgetUse => ({
  scope: 'run',
  limits,
  spent: { ...nothing, ...spent },
  held: held ?? {},
  holders: held ? 1 : 0,
})
const request = { least: { usd: 0.1, tokens: 100, rounds: 1 }, most: { usd: 0.5, tokens: 500, rounds: 1 } }
const decide = (...uses: BudgetUse[]) => decideHold(request, uses).type

test('a request that fits may be sent', () => {
  expect(decide(use({ usd: 1, tokens: 1000, rounds: 1 }))).toBe('held')
  expect(decide(use({ usd: 1 }, { usd: 0.1 }, { usd: 0.4 }))).toBe('held')
})

test('one that may exceed a limit may be sent alone, but not while another is in progress', () => {
  expect(decide(use({ tokens: 300 }))).toBe('held')
  expect(decide(use({ tokens: 300 }, {}, { tokens: 1 }))).toBe('wait')
})

test('one whose input alone exceeds a limit is not sent', () => {
  expect(decide(use({ tokens: 300 }, { tokens: 201 }))).toBe('reached')
  expect(decide(use({ tokens: 300 }, { tokens: 200 }))).toBe('held')
  expect(decide(use({ rounds: 2 }, { rounds: 2 }))).toBe('reached')
  expect(decide(use({ ms: 5 }, { ms: 5 }))).toBe('reached')
})

test('a limit that is met exactly is not exceeded', () => {
  expect(decide(use({ usd: 0.3 }, { usd: 0.2 }))).toBe('held')
  expect(decide(use({ usd: 0.8 }, { usd: 0.1 }, { usd: 0.2 }))).toBe('held')
})

test('of several budgets, the strictest decides', () => {
  const [fits, waits, reached] = [
    use({ tokens: 900 }),
    use({ tokens: 300 }, {}, { tokens: 1 }),
    use({ tokens: 1 }),
  ]
  expect(decide(fits, waits)).toBe('wait')
  expect(decide(waits, reached)).toBe('reached')
})

test('calls do not keep a request from being sent: the smallest number that is left is passed on', () => {
  const uses = [use({ toolCalls: 9 }, { toolCalls: 1 }), use({ toolCalls: 5 }, { toolCalls: 5 })]
  expect(decideHold(request, uses)).toMatchObject({ type: 'held', toolCalls: { limit: 5, spent: 5 } })
})
