import { expect, test } from 'vitest'
import { noUsage } from '../protocol/index.ts'
import { costLine, costText } from './cost-line.ts'

test('an answer is summed up in one line', () => {
  const usage = { ...noUsage, inputTokens: 12_345, outputTokens: 678, cacheReadTokens: 11_111 }
  expect(costLine({ cost: { usd: 0.01234, knownUsd: 0.01234 }, usage, rounds: 3 })).toBe(
    '$0.0123 · 3 rounds · 12,345 tokens in, 678 out (90 % cached)',
  )
  const small = { ...noUsage, inputTokens: 1, outputTokens: 1 }
  expect(costLine({ cost: { usd: 2, knownUsd: 2 }, usage: small, rounds: 1 })).toBe(
    '$2.00 · 1 round · 1 token in, 1 out',
  )
})

test('an answer that has used nothing has no line', () => {
  expect(costLine({ cost: { usd: 0, knownUsd: 0 }, usage: noUsage, rounds: 1 })).toBe('')
  expect(costLine({ cost: { knownUsd: 0, unknown: 1 }, usage: noUsage, rounds: 1 })).toBe(
    'unknown cost · 1 round',
  )
})

test.each([
  [{ usd: 0.0004, knownUsd: 0.0004, simulatedUsd: 0.0004 }, '$0.0004 (simulated)'],
  [{ usd: 0.5, knownUsd: 0.5, simulatedUsd: 0.2 }, '$0.50 ($0.20 simulated)'],
  [{ usd: 0.5, knownUsd: 0.5, estimatedUsd: 0.5 }, '$0.50 (estimated)'],
  [{ usd: 0.5, knownUsd: 0.5, estimatedUsd: 0.01 }, '$0.50 ($0.01 estimated)'],
  [{ knownUsd: 0.0123, unknown: 2 }, 'at least $0.0123, 2 requests with an unknown price'],
  [{ knownUsd: 0.0123, unknown: 1 }, 'at least $0.0123, 1 request with an unknown price'],
  [{ knownUsd: 0, unknown: 1 }, "unknown cost (no price for 'my-model')"],
])('%j is shown as %s', (cost, text) => {
  expect(costText(cost, 'my-model')).toBe(text)
})

test('an unknown cost without a model has no reason', () => {
  expect(costText({ knownUsd: 0, unknown: 1 })).toBe('unknown cost')
})
