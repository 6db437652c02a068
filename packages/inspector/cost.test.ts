import { nothingSpent } from 'millrace/view'
import { expect, test } from 'vitest'
import { logOf, roundEnd, roundStart, runEnd, runIn, runStart } from './chat/log.test-kit.ts'
import { contextText, costParts, costText, paidText } from './cost.ts'

const usage = { inputTokens: 10, outputTokens: 3 }
const cost = (usd: number, prices = 'genai-prices 0.1.8') => ({ usd, prices })
const spent = (more: object) => ({ ...nothingSpent(), ...more })

test.each([
  ['$0.0123', { nanos: 12_300_000 }],
  ['$0.0004 simulated', { nanos: 400_000, simulatedNanos: 400_000 }],
  ['$0.0123 partly simulated', { nanos: 12_300_000, simulatedNanos: 400_000 }],
  ['unknown price', { unknown: 1 }],
  ['$0.0123 + unknown price', { nanos: 12_300_000, unknown: 2 }],
  [undefined, {}],
])('a total is shown as %s', (text, more) => {
  expect(costText(spent(more))).toBe(text)
})

test.each([
  ['$0.0123', { usage, cost: cost(0.0123) }],
  ['$0.0123 estimated', { estimate: usage, cost: cost(0.0123) }],
  ['$0.0123 simulated, estimated', { estimate: usage, cost: cost(0.0123, 'simulated') }],
  ['unknown price', { usage }],
  [undefined, {}],
])('a request is shown as %s', (text, paid) => {
  expect(paidText(paid)).toBe(text)
})

test('a cost consists of models, with failed requests, tools, sub-agents and summaries', () => {
  const error = { code: 'stream_error', message: 'm', op: 'o', retryable: true } as const
  const failed = { model: 'mini', estimate: usage, cost: cost(0.002) }
  const run = runIn(
    logOf(
      { type: 'summary', replaces: 1, message: { role: 'user', content: 's' }, usage, cost: cost(0.004) },
      { type: 'round-retry', round: 1, attempt: 2, model: 'm', delayMs: 0, error, failed },
      { ...roundEnd, usage, cost: cost(0.01) } as typeof roundEnd,
      {
        type: 'tool-progress',
        callId: 'c1',
        name: 'ask',
        agent: 'helper',
        event: { ...roundEnd, usage, cost: cost(0.03, 'simulated') } as never,
      },
      roundStart,
      { ...roundEnd, usage } as typeof roundEnd,
      runEnd('completed'),
    ),
  )
  expect(costParts([run])).toEqual([
    'm: $0.01',
    'mini: $0.002',
    'Tool ask: $0.03',
    'Summaries: $0.004',
    'Of this estimated: $0.002',
    'Of this simulated: $0.03',
    'Unknown price: 1 request',
  ])
})

test('nothing is shown for a run that cost nothing', () => {
  expect(costParts([runIn(logOf(runStart))])).toEqual([])
})

test('the use of the context is a share if the limit is known', () => {
  const use = { tokens: 500, system: 0, tools: 0, history: 500, results: 0 }
  expect(contextText({ ...use, limit: 2000 })).toMatch(/^500 of 2.?000 tokens \(25%\)$/)
  expect(contextText(use)).toBe('500 tokens')
})
