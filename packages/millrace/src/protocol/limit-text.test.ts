import { describe, expect, test } from 'vitest'
import { budgetQuestion, formatUsd, limitText } from './limit-text.ts'

describe('money', () => {
  test.each([
    [0, '$0.00'],
    [0.00001, '<$0.0001'],
    [0.0001, '$0.0001'],
    [0.01234, '$0.0123'],
    [0.05, '$0.05'],
    [0.1234, '$0.12'],
    [0.999, '$1.00'],
    [2, '$2.00'],
    [1234.567, '$1,234.57'],
  ])('%d is written as %s', (usd, text) => {
    expect(formatUsd(usd)).toBe(text)
  })
})

describe('a reached limit', () => {
  test.each([
    [{ scope: 'run', kind: 'usd', limit: 2, spent: 2.01 }, 'The budget of $2.00 for this run is spent.'],
    [
      { scope: 'thread', kind: 'tokens', limit: 10_000, spent: 10_000 },
      'The budget of 10,000 tokens for this thread is spent.',
    ],
    [
      { scope: 'user', kind: 'rounds', limit: 1, spent: 1 },
      'The budget of 1 round per user and day is spent.',
    ],
    [
      { scope: 'agent', kind: 'toolCalls', limit: 20, spent: 21 },
      'The budget of 20 tool calls per day for this agent is spent.',
    ],
    [{ scope: 'run', kind: 'ms', limit: 1500, spent: 1600 }, 'The budget of 1.5 s for this run is spent.'],
    [
      { scope: 'run', kind: 'ms', limit: 600_000, spent: 600_001 },
      'The budget of 10 min for this run is spent.',
    ],
  ] as const)('%j is a sentence', (limit, text) => {
    expect(limitText(limit)).toBe(text)
  })

  test('that is not spent yet says that the next request is too much', () => {
    expect(limitText({ scope: 'run', kind: 'usd', limit: 2, spent: 1.98 })).toBe(
      'The budget of $2.00 for this run is too small for the next request ($1.98 spent).',
    )
  })

  test('is asked about with the amount to add', () => {
    expect(budgetQuestion({ scope: 'run', kind: 'usd', limit: 2, spent: 2.01 }, { usd: 2 })).toBe(
      'The budget of $2.00 for this run is spent ($2.01). Spend $2.00 more?',
    )
    expect(budgetQuestion({ scope: 'run', kind: 'toolCalls', limit: 5, spent: 5 }, { toolCalls: 10 })).toBe(
      'The budget of 5 tool calls for this run is spent (5 tool calls). Allow another 10 tool calls?',
    )
    expect(budgetQuestion({ scope: 'run', kind: 'usd', limit: 2, spent: 1.98 }, { usd: 1 })).toBe(
      'The budget of $2.00 for this run is too small for the next request ($1.98 spent). Spend $1.00 more?',
    )
  })
})
