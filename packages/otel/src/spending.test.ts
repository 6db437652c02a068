import type { RunEvent } from 'millrace'
import { noUsage } from 'millrace'
import type { RunTelemetry } from 'millrace/internal'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import type { Measured } from './otel.test-kit.ts'
import { measured, named, only } from './otel.test-kit.ts'

const usage = { inputTokens: 100, outputTokens: 10 }
const cost = (usd: number, prices = 'genai-prices 0.1.8') => ({ usd, prices })
const gpt = scriptedModel([], { id: 'gpt' })
const byDesk = { 'gen_ai.agent.name': 'desk' }
const byGpt = { ...byDesk, 'gen_ai.provider.name': 'scripted', 'gen_ai.request.model': 'gpt' }

const roundEnd = (more: object = {}) =>
  ({ type: 'round-end', round: 1, model: 'gpt', finish: 'stop', usage, ...more }) as RunEvent
const runEnd = (more: object = {}) =>
  ({ type: 'run-end', outcome: 'completed', usage: noUsage, ...more }) as RunEvent
const progress = (event: RunEvent): RunEvent => ({
  type: 'tool-progress',
  callId: 'c',
  name: 'ask',
  agent: 'helper',
  event,
})

function startRun({ telemetry }: Measured, agent = 'desk') {
  return telemetry.startRun({ runId: agent, agent, inThread: false, parentTraces: [] })
}

/** A model request that succeeds, or fails. */
function request(run: RunTelemetry, { fails = false, aside = false, model = gpt } = {}) {
  const { end } = run.modelCall({
    runId: 'r',
    round: 1,
    attempt: 1,
    model,
    request: { messages: [], tools: [], settings: {} },
    aside,
  })
  const error = { code: 'stream_error', op: 'model.stream', message: 'm' }
  end(fails ? { error: error as never } : { done: { type: 'done', finish: 'stop', usage } })
}

function emit(run: RunTelemetry, ...events: RunEvent[]) {
  for (const event of events) run.event(event)
}

const error = { code: 'stream_error', message: 'm', op: 'model.stream', retryable: true } as const

test('costs are counted by agent, model and kind', async () => {
  const seen = measured()
  const run = startRun(seen)
  request(run, { aside: true, model: scriptedModel([], { id: 'mini' }) })
  const message = { role: 'user', content: 's' } as const
  emit(run, { type: 'summary', replaces: 2, message, usage, model: 'mini', cost: cost(0.01) })
  request(run, { fails: true })
  const failed = { model: 'gpt', estimate: usage, cost: cost(0.2) }
  emit(run, { type: 'round-retract', round: 1, reason: 'broken', failed })
  emit(run, { type: 'round-retry', round: 1, attempt: 2, model: 'gpt', delayMs: 0, error })
  request(run)
  emit(run, roundEnd({ cost: cost(0.3) }))
  request(run)
  emit(run, roundEnd({ cost: cost(0.5, 'simulated') }))
  const result = { callId: 'c', name: 'search', output: [], isError: false, ms: 1, overlapMs: 0 }
  emit(run, { type: 'tool-result', ...result, status: 'ok', cost: cost(0.05, 'reported') }, runEnd())
  const kindOf = (kind: string, simulated = false) => ({
    'millrace.cost.kind': kind,
    'millrace.cost.simulated': simulated,
  })
  expect(await seen.points('millrace.cost')).toEqual([
    { attributes: { ...byGpt, 'gen_ai.request.model': 'mini', ...kindOf('summary') }, value: 0.01 },
    { attributes: { ...byGpt, ...kindOf('failed') }, value: 0.2 },
    { attributes: { ...byGpt, ...kindOf('round') }, value: 0.3 },
    { attributes: { ...byGpt, ...kindOf('round', true) }, value: 0.5 },
    { attributes: { ...byDesk, ...kindOf('tool'), 'gen_ai.tool.name': 'search' }, value: 0.05 },
  ])
  expect(await seen.points('millrace.cost.unknown')).toEqual([])
  expect(only(seen.spans(), 'invoke_agent desk').attributes).toMatchObject({
    'millrace.cost.usd': 1.06,
    'millrace.cost.estimated_usd': 0.2,
    'millrace.cost.simulated': true,
  })
})

test('the span of a request has its cost, and the context after it', () => {
  const seen = measured()
  const run = startRun(seen)
  request(run, { fails: true })
  const failed = { model: 'gpt', estimate: usage, cost: cost(0.2) }
  emit(run, { type: 'round-retry', round: 1, attempt: 2, model: 'gpt', delayMs: 0, error, failed })
  request(run)
  const context = { tokens: 250, limit: 1000, system: 50, tools: 0, history: 200, results: 0 }
  emit(run, roundEnd({ cost: cost(0.3, 'simulated'), context }))
  const attributes = named(seen.spans(), 'chat gpt').map((span) =>
    Object.fromEntries(
      Object.entries(span.attributes).filter(([name]) => /millrace\.(cost|context)/.test(name)),
    ),
  )
  expect(attributes).toEqual([
    {
      'millrace.cost.usd': 0.2,
      'millrace.cost.prices': 'genai-prices 0.1.8',
      'millrace.cost.estimated': true,
    },
    {
      'millrace.cost.usd': 0.3,
      'millrace.cost.prices': 'simulated',
      'millrace.cost.simulated': true,
      'millrace.context.tokens': 250,
      'millrace.context.limit': 1000,
    },
  ])
})

test('the span of a request ends with its run if nothing says what it cost', () => {
  const seen = measured()
  const run = startRun(seen)
  request(run)
  run.handedOver()
  expect(seen.spans().map(({ name }) => name)).toEqual(['invoke_agent desk', 'chat gpt'])
})

test('an unknown price is counted as unknown, and the run has no total', async () => {
  const seen = measured()
  const run = startRun(seen)
  request(run)
  emit(run, roundEnd(), roundEnd({ cost: cost(0.3) }), runEnd())
  expect(await seen.points('millrace.cost.unknown')).toEqual([
    { attributes: { ...byGpt, 'millrace.cost.kind': 'round' }, value: 1 },
  ])
  const { attributes } = only(seen.spans(), 'invoke_agent desk')
  expect(attributes).toMatchObject({ 'millrace.cost.known_usd': 0.3, 'millrace.cost.unknown': 1 })
  expect(attributes).not.toHaveProperty('millrace.cost.usd')
})

test('a sub-agent is counted once, for itself', async () => {
  const seen = measured()
  const run = startRun(seen)
  const round = roundEnd({ cost: cost(0.25) })
  const inner = run.nested('c').startRun({ runId: 'i', agent: 'helper', inThread: false, parentTraces: [] })
  for (const event of [round, runEnd()]) {
    inner.event(event)
    run.event(progress(event))
  }
  emit(run, roundEnd({ cost: cost(0.5) }), runEnd())
  const points = await seen.points('millrace.cost')
  expect(points.map(({ attributes, value }) => [attributes['gen_ai.agent.name'], value])).toEqual([
    ['helper', 0.25],
    ['desk', 0.5],
  ])
  expect(only(seen.spans(), 'invoke_agent desk').attributes['millrace.cost.usd']).toBe(0.5)
})

test('a reached budget is counted once for what was done about it', async () => {
  const seen = measured()
  const run = startRun(seen)
  const limit = { scope: 'run', kind: 'usd', limit: 2, spent: 1.9 } as const
  const roundStart: RunEvent = { type: 'round-start', round: 1, model: 'mini', limit }
  emit(run, roundStart, { ...roundStart, round: 2 })
  const asked = { callId: 'budget_1', name: 'budget', input: { usd: 2 }, budget: limit }
  emit(run, { type: 'approval-request', ...asked }, runEnd({ outcome: 'budget', limit }))
  const points = await seen.points('millrace.budget.reached')
  const attributes = { ...byDesk, 'millrace.budget.scope': 'run', 'millrace.budget.kind': 'usd' }
  expect(points).toEqual(
    ['model', 'ask', 'end'].map((action) => ({
      attributes: { ...attributes, 'millrace.budget.action': action },
      value: 1,
    })),
  )
  expect(only(seen.spans(), 'invoke_agent desk').attributes).toMatchObject({
    'millrace.run.outcome': 'budget',
    'millrace.budget.scope': 'run',
    'millrace.budget.kind': 'usd',
  })
})

test('the use of the context is measured if its limit is known', async () => {
  const seen = measured()
  const run = startRun(seen)
  request(run)
  const context = { tokens: 250, system: 50, tools: 0, history: 200, results: 0 }
  emit(run, roundEnd({ context: { ...context, limit: 1000 } }), roundEnd({ context }))
  expect(await seen.points('millrace.context.usage')).toEqual([
    { attributes: byGpt, value: { count: 1, sum: 0.25 } },
  ])
})
