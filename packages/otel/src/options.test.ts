import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { measured, named } from './otel.test-kit.ts'
import type { OtelOptions } from './otel.ts'
import { otel } from './otel.ts'

const usage = { inputTokens: 9, outputTokens: 8, cacheReadTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 }
const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })

async function toldBy(options: Pick<OtelOptions, 'conventions'>) {
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

const ours = ['gen_ai.execute_tool.duration', 'gen_ai.invoke_agent.duration', 'millrace.runs']
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
  ])('%s say by which names model calls are measured', async (conventions, names) => {
    const told = await toldBy({ conventions })
    expect(told.names).toEqual([...names, ...ours].toSorted())
    const isOlder = conventions === 'older' || conventions === 'both'
    const chat = named(told.spans, 'chat gpt')
    expect(chat).toHaveLength(2)
    for (const { attributes } of [
      ...named(told.spans, 'invoke_agent desk'),
      ...chat,
      ...told.points.filter(({ name }) => name.startsWith('gen_ai.client')),
    ])
      expect(attributes['gen_ai.system']).toBe(isOlder ? 'scripted' : undefined)
    for (const { name, attributes } of told.points)
      expect('gen_ai.token.type' in attributes).toBe(name === 'gen_ai.client.token.usage')
  })
})

describe('otel() refuses', () => {
  const refused = (options: unknown) => () => otel(options as OtelOptions)
  test.each<[string, unknown, string]>([
    ['what are no options', null, 'otel() takes an object of options, not null'],
    ['text for options', 'content', 'otel() takes an object of options, not a string'],
    [
      'a tracer',
      { tracerProvider: { startSpan() {} } },
      "the option 'tracerProvider' must be a TracerProvider, with getTracer()",
    ],
    [
      'no meter provider',
      { meterProvider: null },
      "the option 'meterProvider' must be a MeterProvider, with getMeter()",
    ],
    ['content that is no switch', { content: 'yes' }, "the option 'content' must be true or false"],
    ['redact that is no function', { content: true, redact: /x/ }, "the option 'redact' must be a function"],
    [
      'redact without content',
      { redact: () => undefined },
      "the option 'redact' is asked about content: set content: true as well",
    ],
    ['headers themselves', { headers: { traceparent: 'x' } }, "the option 'headers' must be true or false"],
    ['conventions that nobody has', { conventions: 'newer' }, "the option 'conventions' must be"],
    ['what it does not know', { contents: true }, 'content'],
  ])('%s', (_, options, message) => {
    expect(refused(options)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        op: 'otel',
        message: expect.stringContaining(message),
      }),
    )
  })
})
