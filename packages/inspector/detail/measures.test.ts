import type { RoundView } from 'millrace/view'
import { nothingSpent } from 'millrace/view'
import { expect, it } from 'vitest'
import type { Figures } from './measures.ts'
import { addFigures, difference, factsOf, measured, measures, spentOnRound } from './measures.ts'

const nothing = addFigures([])
const costing = (usd: number, unknown = 0): Figures => ({
  ...nothing,
  spent: { ...nothingSpent(), nanos: usd * 1e9, unknown },
})
const [cost] = measures.filter(({ label }) => label === 'Cost')
if (!cost) throw new Error('no measure of the cost')

it('differences have a sign and a share', () => {
  expect(difference(cost, costing(0.02), costing(0.03))).toBe('+$0.01 (+50%)')
  expect(difference(cost, costing(0.02), costing(0.01))).toBe('−$0.01 (−50%)')
  expect(difference(cost, costing(0), costing(0.01))).toBe('+$0.01')
  expect(difference(cost, costing(0.01), costing(0.01))).toBe('same')
  expect(difference(cost, costing(0.02), costing(0.01998))).toBe('<$0.0001 (−0.1%)')
})

it('costs with an unknown part have no difference', () => {
  const unknown = costing(0.01, 2)
  expect(measured(cost, unknown)).toBe('$0.01 + unknown price')
  expect(difference(cost, costing(0.02), unknown)).toBeUndefined()
})

it('what is zero or unknown is no fact', () => {
  const { usage } = nothing
  expect(factsOf(nothing)).toEqual([])
  expect(factsOf({ ...nothing, usage: { ...usage, inputTokens: 1200, cacheReadTokens: 900 } })).toEqual([
    ['Input tokens', '1,200'],
    ['Read from cache', '900 (75%)'],
  ])
  expect(factsOf(costing(0, 1))).toEqual([['Cost', 'unknown price']])
  const firstTokens = { ms: 600, count: 2 }
  expect(factsOf({ ...nothing, firstTokens })).toEqual([['First token', '300 ms on average']])
})

it('a round has cost what its failed requests have cost, too', () => {
  const paid = (usd: number) => ({ model: 'm', usage: { inputTokens: 1 }, cost: { usd, prices: 'custom' } })
  const round = {
    number: 1,
    end: { type: 'round-end', round: 1, finish: 'stop', ...paid(0.01) },
    retracted: { at: 0, reason: 'the stream broke', failed: paid(0.02) },
    retries: [{ retry: { type: 'round-retry', failed: paid(0.04) } }, { retry: { type: 'round-retry' } }],
  } as unknown as RoundView
  expect(spentOnRound(round).nanos).toBeCloseTo(0.07 * 1e9)
})
