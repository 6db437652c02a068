import { expect, test } from 'vitest'
import type { RunEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { recordedLogs } from './logs.test-kit.ts'

const usage = { inputTokens: 10, outputTokens: 3 }
const cost = (usd: number, prices = 'genai-prices 0.1.8') => ({ usd, prices })
const roundEnd = (more: object = {}): RunEvent =>
  ({ type: 'round-end', round: 1, model: 'gpt', finish: 'stop', usage, ...more }) as RunEvent
const runEnd: RunEvent = { type: 'run-end', outcome: 'completed', usage: noUsage }

/** The line of a run with these events. */
function lineOf(...events: RunEvent[]) {
  const { lines, telemetry } = recordedLogs()
  const run = telemetry.startRun({ runId: 'r', agent: 'desk', inThread: false, parentTraces: [] })
  for (const event of events) run.event(event)
  return lines.at(-1)?.fields
}

test('a run is logged with its cost: rounds, failed requests, summaries and tools', () => {
  const error = { code: 'stream_error', message: 'm', op: 'model.stream', retryable: true } as const
  const failed = { model: 'gpt', estimate: usage, cost: cost(0.02) }
  const line = lineOf(
    { type: 'summary', replaces: 2, message: { role: 'user', content: 's' }, usage, cost: cost(0.1) },
    { type: 'round-retract', round: 1, reason: 'broken', failed },
    { type: 'round-retry', round: 1, attempt: 2, model: 'gpt', delayMs: 0, error },
    { type: 'round-retry', round: 1, attempt: 3, model: 'gpt', delayMs: 0, error, failed },
    roundEnd({ cost: cost(0.2) }),
    {
      type: 'tool-result',
      callId: 'c',
      name: 'search',
      output: [],
      status: 'ok',
      isError: false,
      ms: 1,
      overlapMs: 0,
      cost: cost(0.005, 'reported'),
    },
    runEnd,
  )
  expect(line).toMatchObject({ costUsd: 0.345, estimatedUsd: 0.04 })
  expect(line).not.toHaveProperty('unknownPrices')
  expect(line).not.toHaveProperty('simulatedUsd')
})

test('a cost with an unknown price is logged as unknown, with the part that is known', () => {
  const line = lineOf(roundEnd(), roundEnd({ cost: cost(0.2) }), runEnd)
  expect(line).toMatchObject({ knownCostUsd: 0.2, unknownPrices: 1 })
  expect(line).not.toHaveProperty('costUsd')
  expect(lineOf(roundEnd(), runEnd)).not.toHaveProperty('knownCostUsd')
})

test('a simulated cost is logged as simulated', () => {
  expect(lineOf(roundEnd({ cost: cost(0.2, 'simulated') }), runEnd)).toMatchObject({
    costUsd: 0.2,
    simulatedUsd: 0.2,
  })
})

test('the cost of a sub-agent is in its own line only', () => {
  const event = roundEnd({ cost: cost(0.2) })
  const progress: RunEvent = { type: 'tool-progress', callId: 'c', name: 'ask', agent: 'helper', event }
  expect(lineOf(progress, roundEnd({ cost: cost(0.1) }), runEnd)).toMatchObject({ costUsd: 0.1 })
})

test('a run that a budget ended is logged with the limit', () => {
  const limit = { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 } as const
  const line = lineOf({ ...runEnd, type: 'run-end', outcome: 'budget', limit, usage: noUsage })
  expect(line).toMatchObject({
    outcome: 'budget',
    limitScope: 'run',
    limitKind: 'usd',
    limit: 2,
    spent: 2.01,
  })
})
