import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { AgentOptions, Model } from 'millrace'
import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { idOf, measured, named, only, treeOf, useContextManager } from './otel.test-kit.ts'

useContextManager()

const names = ['price', 'stock', 'weather'] as const

/**
 * Three tools that run while the model is still generating: one ends before the model, the others
 * after it.
 */
async function overlapping(options: Partial<AgentOptions> = {}) {
  const seen = measured()
  const allStarted = Promise.withResolvers<void>()
  const priceKnown = Promise.withResolvers<void>()
  const modelDone = Promise.withResolvers<void>()
  let started = 0
  const tools = names.map((name) =>
    tool({
      name,
      description: `Looks up the ${name}`,
      input: z.object({ of: z.string() }),
      run: async ({ of }) => {
        if (++started === names.length) allStarted.resolve()
        await allStarted.promise
        if (name !== 'price') await modelDone.promise
        return `${name} of ${of}`
      },
    }),
  )
  const scripted = scriptedModel(
    [
      [
        { text: 'Let me see.' },
        ...names.map((call) => ({ call, input: { of: 'tea' }, id: `c_${call}` })),
        { text: 'One moment.' },
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
      [{ text: 'Tea it is.' }, { usage: { inputTokens: 150, outputTokens: 5 } }],
    ],
    { id: 'gpt' },
  )
  const model: Model = {
    ...scripted,
    async *stream(request, streamOptions) {
      for await (const event of scripted.stream(request, streamOptions)) {
        // The end of the generation waits for the first tool.
        if (event.type === 'done' && scripted.requests.length === 1) await priceKnown.promise
        yield event
      }
    },
  }
  const desk = agent({ name: 'desk', model, tools, telemetry: seen.telemetry, ...options })
  const run = desk.stream('tea?', { conversation: 'talk-1' })
  for await (const event of run) {
    if (event.type === 'tool-result' && event.name === 'price') priceKnown.resolve()
    if (event.type === 'round-end') modelDone.resolve()
  }
  return { seen, run, result: await run.result }
}

test('a run is the parent of its model calls and tools, and tools overlap with the model', async () => {
  const { seen } = await overlapping()
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual([
    'invoke_agent desk',
    '  chat gpt',
    '  execute_tool price',
    '  execute_tool stock',
    '  execute_tool weather',
    '  chat gpt',
  ])
  const [before, after] = [seen.spanLog.slice(0, 7), seen.spanLog.slice(7)]
  expect(before).toEqual([
    '+ invoke_agent desk',
    '+ chat gpt',
    '+ execute_tool price',
    '+ execute_tool stock',
    '+ execute_tool weather',
    '- execute_tool price',
    '- chat gpt',
  ])
  expect(after.slice(0, 2).toSorted()).toEqual(['- execute_tool stock', '- execute_tool weather'])
  expect(after.slice(2)).toEqual(['+ chat gpt', '- chat gpt', '- invoke_agent desk'])
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
  expect(spans.every((span) => span.instrumentationScope.name === 'millrace')).toBe(true)
})

test('model calls are client spans, all others are internal', async () => {
  const { seen } = await overlapping()
  const kinds = Object.fromEntries(seen.spans().map(({ name, kind }) => [name, kind]))
  expect(kinds).toEqual({
    'invoke_agent desk': SpanKind.INTERNAL,
    'chat gpt': SpanKind.CLIENT,
    'execute_tool price': SpanKind.INTERNAL,
    'execute_tool stock': SpanKind.INTERNAL,
    'execute_tool weather': SpanKind.INTERNAL,
  })
})

test('the span of a run has its agent, conversation, usage and outcome', async () => {
  const { seen, result } = await overlapping()
  const span = only(seen.spans(), 'invoke_agent desk')
  expect(span.attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'desk',
    'gen_ai.conversation.id': 'talk-1',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'gpt',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 250,
    'gen_ai.usage.output_tokens': 25,
    'gen_ai.usage.cache_read.input_tokens': 60,
    'gen_ai.usage.cache_write.input_tokens': 30,
    'gen_ai.usage.reasoning.output_tokens': 7,
    'millrace.run.id': result.runId,
    'millrace.run.outcome': 'completed',
    'millrace.run.rounds': 2,
    'millrace.cost.unknown': 2,
  })
  expect(span.status.code).toBe(SpanStatusCode.UNSET)
  expect(span.links).toEqual([])
})

test('the span of a model call has its settings and its response', async () => {
  const { seen } = await overlapping({
    settings: {
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 512,
      seed: 7,
      stop: ['END'],
      reasoning: 'low',
    },
  })
  const [first, second] = named(seen.spans(), 'chat gpt')
  expect(first?.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'gpt',
    'gen_ai.request.stream': true,
    'gen_ai.request.temperature': 0.2,
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.max_tokens': 512,
    'gen_ai.request.seed': 7,
    'gen_ai.request.stop_sequences': ['END'],
    'gen_ai.request.reasoning.level': 'low',
    'gen_ai.agent.name': 'desk',
    'gen_ai.conversation.id': 'talk-1',
    'gen_ai.response.finish_reasons': ['tool_call'],
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.usage.cache_read.input_tokens': 60,
    'gen_ai.usage.cache_write.input_tokens': 30,
    'gen_ai.usage.reasoning.output_tokens': 7,
    'millrace.round': 1,
    'millrace.context.tokens': 120,
  })
  expect(second?.attributes).toMatchObject({
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 150,
    'gen_ai.usage.output_tokens': 5,
    'millrace.round': 2,
  })
  // Kinds of tokens that were not reported are absent, not 0.
  expect(second?.attributes).not.toHaveProperty('gen_ai.usage.cache_read.input_tokens')
  expect(second?.attributes).not.toHaveProperty('gen_ai.usage.reasoning.output_tokens')
})

test('the span of a tool call has its tool, and its overlap with the model', async () => {
  const { seen } = await overlapping()
  const tools = seen.spans().filter(({ name }) => name.startsWith('execute_tool'))
  expect(tools.map(({ attributes }) => attributes)).toEqual(
    names.map((name) => ({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': `c_${name}`,
      'gen_ai.tool.description': `Looks up the ${name}`,
      'gen_ai.agent.name': 'desk',
      'gen_ai.conversation.id': 'talk-1',
      'millrace.tool.status': 'ok',
      'millrace.tool.overlap': expect.any(Number),
    })),
  )
})

test('the log contains the trace context of the run', async () => {
  const { seen, run } = await overlapping()
  const { spanId, traceId } = only(seen.spans(), 'invoke_agent desk').spanContext()
  for await (const event of run) {
    expect(event).toMatchObject({ type: 'run-start', trace: `00-${traceId}-${spanId}-01` })
    break
  }
})

test('a structured answer and a model that does not stream are marked as such', async () => {
  const seen = measured()
  const model = scriptedModel([`{"ok":true}`], { capabilities: { streaming: false } })
  const desk = agent({
    model,
    requireStreaming: false,
    output: z.object({ ok: z.boolean() }),
    telemetry: seen.telemetry,
  })
  await desk.run('well?')
  const { attributes } = only(seen.spans(), 'chat scripted')
  expect(attributes).toMatchObject({ 'gen_ai.output.type': 'json' })
  for (const absent of ['gen_ai.request.stream', 'gen_ai.response.time_to_first_chunk'])
    expect(attributes).not.toHaveProperty(absent)
  expect(await seen.points('gen_ai.client.inference.time_to_first_chunk')).toEqual([])
  expect(attributes).not.toHaveProperty('gen_ai.conversation.id')
})

test('calls that never run are empty spans with their status', async () => {
  const seen = measured()
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: z.object({ n: z.number() }),
    run: ({ n }) => {
      if (n > 1) throw new Error('too far')
      return n
    },
  })
  const model = scriptedModel([
    [
      { call: 'look', input: { n: 1 } },
      { call: 'look', input: { n: 2 } },
      { call: 'look', input: { n: 'x' } },
      { call: 'nowhere' },
      { call: 'look', input: { n: 3 } },
    ],
    'Well.',
  ])
  const beforeCall = ({ input }: { input: { n?: unknown } }) =>
    input.n === 3 ? { block: 'not that one' } : undefined
  await agent({ model, tools: [look], beforeCall, telemetry: seen.telemetry }).run('look')
  const tools = seen.spans().filter(({ name }) => name.startsWith('execute_tool'))
  const summary = tools.map(({ name, status, attributes }) => [
    name,
    attributes['gen_ai.tool.call.id'],
    attributes['millrace.tool.status'],
    attributes['error.type'],
    status.code === SpanStatusCode.ERROR,
    'millrace.tool.overlap' in attributes,
  ])
  expect(summary.toSorted()).toEqual([
    ['execute_tool look', 'call_1', 'ok', undefined, false, true],
    ['execute_tool look', 'call_2', 'failed', 'failed', true, true],
    ['execute_tool look', 'call_3', 'rejected', 'rejected', true, false],
    ['execute_tool look', 'call_5', 'blocked', undefined, false, false],
    ['execute_tool nowhere', 'call_4', 'rejected', 'rejected', true, false],
  ])
  const run = only(seen.spans(), 'invoke_agent agent')
  expect(tools.every((span) => span.parentSpanContext?.spanId === idOf(run))).toBe(true)
  // No content is recorded, not even in errors.
  expect(tools.every(({ status }) => status.message === undefined)).toBe(true)
  const at = seen.spanLog.indexOf('+ execute_tool nowhere')
  expect(seen.spanLog[at + 1]).toBe('- execute_tool nowhere')
  // Calls that never ran are not measured.
  expect(await seen.points('gen_ai.execute_tool.duration')).toMatchObject([
    { attributes: { 'gen_ai.tool.name': 'look' }, value: { count: 1 } },
    { attributes: { 'gen_ai.tool.name': 'look', 'error.type': 'failed' }, value: { count: 1 } },
  ])
})
