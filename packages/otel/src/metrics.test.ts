import type { SpanProcessor } from '@opentelemetry/sdk-trace'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { agent, noUsage, tool } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import { scriptedModel } from 'millrace/testing'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Metric } from './otel.test-kit.ts'
import { measured } from './otel.test-kit.ts'
import { otel } from './otel.ts'

const look = tool({
  name: 'look',
  description: 'Looks',
  input: z.object({ value: z.string() }),
  run: ({ value }) => value,
})

const rounds: readonly ScriptRound[] = [
  [
    { text: 'abcdefgh' },
    ...['a', 'b', 'c'].map((value) => ({ call: 'look', input: { value } })),
    {
      usage: {
        inputTokens: 100,
        outputTokens: 20,
        cacheReadTokens: 60,
        cacheWriteTokens: 30,
        reasoningTokens: 7,
      },
    },
  ],
  [{ text: 'abcd' }, { usage: { inputTokens: 150, outputTokens: 5 } }],
]

const shapeOf = ({ name, kind, unit }: Metric) => [name, kind, unit]

const some = expect.any(Number)

test('a run of two rounds and three tools is measured as the conventions define', async () => {
  const seen = measured()
  const model = scriptedModel(rounds, { id: 'gpt', deltaChars: 4, price: { input: 1, output: 4 } })
  await agent({ name: 'desk', model, tools: [look], telemetry: seen.telemetry }).run('look')
  const metrics = await seen.metrics()
  expect(metrics.map(shapeOf).toSorted()).toEqual([
    ['gen_ai.client.inference.duration', 'histogram', 's'],
    ['gen_ai.client.inference.time_per_output_chunk', 'histogram', 's'],
    ['gen_ai.client.inference.time_to_first_chunk', 'histogram', 's'],
    ['gen_ai.client.inference.usage.cache_read.input_tokens', 'counter', '{token}'],
    ['gen_ai.client.inference.usage.cache_write.input_tokens', 'counter', '{token}'],
    ['gen_ai.client.inference.usage.input_tokens', 'counter', '{token}'],
    ['gen_ai.client.inference.usage.output_tokens', 'counter', '{token}'],
    ['gen_ai.client.inference.usage.reasoning.output_tokens', 'counter', '{token}'],
    ['gen_ai.execute_tool.duration', 'histogram', 's'],
    ['gen_ai.invoke_agent.duration', 'histogram', 's'],
    ['millrace.cost', 'counter', '{USD}'],
    ['millrace.runs', 'counter', '{run}'],
  ])
  const points = Object.fromEntries(metrics.map(({ name, points }) => [name, points]))
  const inference = (name: string) => points[`gen_ai.client.inference.${name}`]
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'gpt',
  }
  expect(inference('duration')).toEqual([{ attributes, value: { count: 2, sum: some } }])
  expect(inference('time_to_first_chunk')).toEqual([{ attributes, value: { count: 2, sum: some } }])
  expect(inference('time_per_output_chunk')).toEqual([{ attributes, value: { count: some, sum: some } }])
  const totals = {
    input_tokens: 250,
    output_tokens: 25,
    'cache_read.input_tokens': 60,
    'cache_write.input_tokens': 30,
    'reasoning.output_tokens': 7,
  }
  for (const [kind, value] of Object.entries(totals))
    expect(inference(`usage.${kind}`)).toEqual([
      { attributes: { ...attributes, 'gen_ai.token.modality': 'unknown' }, value },
    ])
  expect(points['gen_ai.execute_tool.duration']).toEqual([
    {
      attributes: {
        'gen_ai.tool.name': 'look',
        'gen_ai.tool.type': 'function',
        'gen_ai.agent.name': 'desk',
      },
      value: { count: 3, sum: some },
    },
  ])
  expect(points['gen_ai.invoke_agent.duration']).toEqual([
    { attributes: { 'gen_ai.agent.name': 'desk' }, value: { count: 1, sum: some } },
  ])
  expect(points['millrace.runs']).toEqual([
    { attributes: { 'gen_ai.agent.name': 'desk', 'millrace.run.outcome': 'completed' }, value: 1 },
  ])
})

test('the intervals between chunks are measured, and the first chunk separately', async () => {
  const seen = measured()
  // Two chunks, and the `done` event.
  const model = scriptedModel(['abcdefgh'], { id: 'gpt', deltaChars: 4 })
  await agent({ name: 'desk', model, telemetry: seen.telemetry }).run('go')
  const counts = ['time_to_first_chunk', 'time_per_output_chunk'].map(async (name) => {
    const [point] = await seen.points(`gen_ai.client.inference.${name}`)
    return point?.value
  })
  expect(await Promise.all(counts)).toMatchObject([{ count: 1 }, { count: 2 }])
})

test('durations are in seconds', async () => {
  const seen = measured({ conventions: 'both' })
  let now = 5000
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  try {
    const pass = (ms: number) => {
      now += ms
    }
    const run = seen.telemetry.startRun({ runId: 'r', agent: 'desk', inThread: false, parentTraces: [] })
    const request = { messages: [], tools: [], settings: {} }
    const call = run.modelCall({
      runId: 'r',
      round: 1,
      attempt: 1,
      model: scriptedModel([], { id: 'gpt' }),
      request,
    })
    pass(1000)
    call.received?.()
    pass(500)
    call.received?.()
    const about = { callId: 'c', name: 'look' }
    run.event({ type: 'tool-start', ...about, attempt: 1 })
    pass(2500)
    call.end({ done: { type: 'done', finish: 'tool-calls' } })
    run.event({
      type: 'tool-result',
      ...about,
      status: 'ok',
      output: [],
      isError: false,
      ms: 2500,
      overlapMs: 250,
    })
    pass(6000)
    run.event({ type: 'run-end', outcome: 'completed', finish: 'stop', usage: noUsage })
    const none = () => 0
    const gauges = { followers: none, lag: none, running: none, waiting: none, buffered: none }
    seen.telemetry
      .openApp?.({ ...gauges, oldest: () => 1500 })
      .flushed({ events: 1, threads: 1, ms: 50, failed: false })
  } finally {
    clock.mockRestore()
  }
  const sums = Object.fromEntries(
    (await seen.metrics()).flatMap(({ name, unit, points }) =>
      unit === 's' ? points.map(({ value }) => [name, value]) : [],
    ),
  )
  const once = (sum: number) => ({ count: 1, sum })
  expect(sums).toEqual({
    'gen_ai.client.inference.duration': once(4),
    'gen_ai.client.inference.time_to_first_chunk': once(1),
    'gen_ai.client.inference.time_per_output_chunk': once(0.5),
    'gen_ai.client.operation.duration': once(4),
    'gen_ai.client.operation.time_to_first_chunk': once(1),
    'gen_ai.client.operation.time_per_output_chunk': once(0.5),
    'gen_ai.execute_tool.duration': once(2.5),
    'gen_ai.invoke_agent.duration': once(10),
    'millrace.flush.duration': once(0.05),
    'millrace.loop.delay': expect.any(Number),
    'millrace.queue.age': 1.5,
  })
  const [, chat, tool] = seen.spans()
  expect(chat?.attributes['gen_ai.response.time_to_first_chunk']).toBe(1)
  expect(tool?.attributes['millrace.tool.overlap']).toBe(0.25)
})

test('runs are counted per agent', async () => {
  const seen = measured()
  const { telemetry } = seen
  const one = agent({ name: 'one', model: scriptedModel(() => 'Hello.'), telemetry })
  const other = agent({ name: 'other', model: scriptedModel(() => 'Hello.'), telemetry })
  for (const desk of [one, one, other]) await desk.run('hello')
  const runs = await seen.points('millrace.runs')
  expect(runs.map(({ attributes, value }) => [attributes['gen_ai.agent.name'], value])).toEqual([
    ['one', 2],
    ['other', 1],
  ])
  // A model that reports no usage still counts as called, with 0 tokens.
  expect(await seen.points('gen_ai.client.inference.duration')).toMatchObject([{ value: { count: 3 } }])
  for (const name of ['input_tokens', 'output_tokens'])
    expect(await seen.points(`gen_ai.client.inference.usage.${name}`)).toMatchObject([{ value: 0 }])
})

test('a span processor that throws does not affect metrics', async () => {
  const seen = measured()
  const failing: SpanProcessor = {
    onStart() {},
    onEnd() {
      throw new Error('broken')
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const tracerProvider = new TracerProvider({ spanProcessors: [failing] })
  const telemetry = otel({ tracerProvider, meterProvider: seen.meterProvider })
  const model = scriptedModel(rounds, { id: 'gpt' })
  const { outcome } = await agent({ name: 'desk', model, tools: [look], telemetry }).run('look')
  expect(outcome).toBe('completed')
  const counts = async (name: string) => (await seen.points(name)).map(({ value }) => value)
  expect(await counts('millrace.runs')).toEqual([1])
  expect(await counts('gen_ai.execute_tool.duration')).toMatchObject([{ count: 3 }])
  expect(await counts('gen_ai.client.inference.duration')).toMatchObject([{ count: 2 }])
})
