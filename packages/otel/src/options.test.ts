import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { measured, named } from './otel.test-kit.ts'
import type { OtelOptions } from './otel.ts'
import { otel } from './otel.ts'

const usage = { inputTokens: 9, outputTokens: 8, cacheReadTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 }
const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })

async function exportedWith(options: Pick<OtelOptions, 'conventions'>) {
  const seen = measured(options)
  const model = scriptedModel(
    [
      [{ call: 'look' }, { usage }],
      [{ text: 'It is seen.' }, { usage }],
    ],
    {
      id: 'gpt',
      deltaChars: 3,
    },
  )
  await agent({ name: 'desk', model, tools: [look], telemetry: seen.telemetry }).run('Look.')
  const metrics = await seen.metrics()
  const points = metrics.flatMap(({ name, points: all }) =>
    all.map(({ attributes }) => ({ name, attributes })),
  )
  return { spans: seen.spans(), points, names: metrics.map(({ name }) => name).toSorted() }
}

const common = [
  'gen_ai.execute_tool.duration',
  'gen_ai.invoke_agent.duration',
  'millrace.cost.unknown',
  'millrace.runs',
]
const current = [
  'gen_ai.client.inference.duration',
  'gen_ai.client.inference.time_per_output_chunk',
  'gen_ai.client.inference.time_to_first_chunk',
  'gen_ai.client.inference.usage.cache_read.input_tokens',
  'gen_ai.client.inference.usage.cache_write.input_tokens',
  'gen_ai.client.inference.usage.input_tokens',
  'gen_ai.client.inference.usage.output_tokens',
  'gen_ai.client.inference.usage.reasoning.output_tokens',
]
const older = [
  'gen_ai.client.operation.duration',
  'gen_ai.client.operation.time_per_output_chunk',
  'gen_ai.client.operation.time_to_first_chunk',
  'gen_ai.client.token.usage',
]

describe('conventions', () => {
  test.each<[OtelOptions['conventions'], readonly string[]]>([
    [undefined, current],
    ['current', current],
    ['older', older],
    ['both', [...current, ...older]],
  ])('%s: the names of the model call metrics', async (conventions, names) => {
    const exported = await exportedWith({ conventions })
    expect(exported.names).toEqual([...names, ...common].toSorted())
    const isOlder = conventions === 'older' || conventions === 'both'
    const chat = named(exported.spans, 'chat gpt')
    expect(chat).toHaveLength(2)
    for (const { attributes } of [
      ...named(exported.spans, 'invoke_agent desk'),
      ...chat,
      ...exported.points.filter(({ name }) => name.startsWith('gen_ai.client')),
    ])
      expect(attributes['gen_ai.system']).toBe(isOlder ? 'scripted' : undefined)
    for (const { name, attributes } of exported.points)
      expect('gen_ai.token.type' in attributes).toBe(name === 'gen_ai.client.token.usage')
  })
})

describe('otel() rejects', () => {
  const create = (options: unknown) => () => otel(options as OtelOptions)
  test.each<[string, unknown, string]>([
    ['null', null, 'otel() expects an object of options, not null'],
    ['a string', 'content', 'otel() expects an object of options, not a string'],
    [
      'a tracer instead of a provider',
      { tracerProvider: { startSpan() {} } },
      "the option 'tracerProvider' must be a TracerProvider, with getTracer()",
    ],
    [
      'a meter provider that is null',
      { meterProvider: null },
      "the option 'meterProvider' must be a MeterProvider, with getMeter()",
    ],
    ['content that is not a boolean', { content: 'yes' }, "the option 'content' must be true or false"],
    [
      'redact that is not a function',
      { content: true, redact: /x/ },
      "the option 'redact' must be a function",
    ],
    [
      'redact without content',
      { redact: () => undefined },
      "the option 'redact' only applies to content: set content: true as well",
    ],
    ['headers as an object', { headers: { traceparent: 'x' } }, "the option 'headers' must be true or false"],
    ['unknown conventions', { conventions: 'newer' }, "the option 'conventions' must be"],
    ['an unknown option', { contents: true }, 'content'],
  ])('%s', (_, options, message) => {
    expect(create(options)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        op: 'otel',
        message: expect.stringContaining(message),
      }),
    )
  })
})
