import type { ProviderSimulator } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import type { Model } from 'millrace'
import { agent, tool } from 'millrace'
import { anthropic } from 'millrace/anthropic'
import { openai, openaiChat } from 'millrace/openai'
import type { ScriptRound } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { measured, named, only, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

interface WireCase {
  readonly wire: string
  readonly provider: string
  readonly model: (sim: ProviderSimulator) => Model
}

const usage = {
  inputTokens: 100,
  outputTokens: 20,
  cacheReadTokens: 60,
  cacheWriteTokens: 30,
  reasoningTokens: 7,
}
/** Only reported in the first round. */
const kinds = { 'cache_read.input_tokens': 60, 'cache_write.input_tokens': 30, 'reasoning.output_tokens': 7 }
const kindAttributes = Object.fromEntries(
  Object.entries(kinds).map(([kind, count]) => [`gen_ai.usage.${kind}`, count]),
)
const apiKey = 'sk-test'

const cases: readonly WireCase[] = [
  {
    wire: 'Chat Completions',
    provider: 'openai',
    model: ({ baseURL }) => openaiChat('gpt-4.1', { baseURL, apiKey, provider: 'openai' }),
  },
  {
    wire: 'Responses',
    provider: 'openai',
    model: ({ baseURL }) => openai('gpt-5.5', { baseURL, apiKey, provider: 'openai' }),
  },
  {
    wire: 'Messages',
    provider: 'anthropic',
    model: ({ url }) => anthropic('claude-sonnet-4-5', { baseURL: url, apiKey }),
  },
]

const rounds: readonly ScriptRound[] = [
  [
    { text: 'Let me see what there is.' },
    ...['a', 'b', 'c'].map((value) => ({ call: 'look', input: { value } })),
    { usage },
  ],
  [{ text: 'That is all.' }, { usage: { inputTokens: 150, outputTokens: 5 } }],
]

const look = tool({
  name: 'look',
  description: 'Looks something up',
  input: z.object({ value: z.string() }),
  run: ({ value }) => value,
})

for (const { wire, provider, model } of cases)
  test(`over ${wire}: model, response id, server address and token usage`, async () => {
    const sim = await providerSimulator(rounds, { deltaChars: 4 })
    const seen = measured()
    open.push(sim)
    const connected = model(sim)
    const { port, hostname } = new URL(sim.url)
    const desk = agent({ name: 'desk', model: connected, tools: [look], telemetry: seen.telemetry })
    expect((await desk.run('look')).outcome).toBe('completed')

    const spans = seen.spans()
    const tree = treeOf(spans)
    expect(tree[0]).toBe('invoke_agent desk')
    expect(tree.slice(1).toSorted()).toEqual([
      ...Array(2).fill(`  chat ${connected.id}`),
      ...Array(3).fill('  execute_tool look'),
    ])
    const [first, second] = named(spans, `chat ${connected.id}`).map(({ attributes }) => attributes)
    const target = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': connected.id,
      'server.address': hostname,
      'server.port': Number(port),
    }
    expect(first).toEqual({
      ...target,
      ...kindAttributes,
      'gen_ai.agent.name': 'desk',
      'gen_ai.request.stream': true,
      'gen_ai.response.id': expect.stringMatching(/\w/),
      'gen_ai.response.model': connected.id,
      'gen_ai.response.finish_reasons': ['tool_call'],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'millrace.round': 1,
      'millrace.context.tokens': 120,
    })
    expect(second).toMatchObject({ ...target, 'gen_ai.response.finish_reasons': ['stop'] })
    expect(second?.['gen_ai.response.id']).not.toBe(first?.['gen_ai.response.id'])
    expect(only(spans, 'invoke_agent desk').attributes).toMatchObject({
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': connected.id,
      'gen_ai.usage.input_tokens': 250,
      'gen_ai.usage.output_tokens': 25,
      ...kindAttributes,
    })

    const attributes = { ...target, 'gen_ai.response.model': connected.id }
    expect(await seen.points('gen_ai.client.inference.duration')).toEqual([
      { attributes, value: { count: 2, sum: expect.any(Number) } },
    ])
    for (const [kind, value] of Object.entries({ ...kinds, input_tokens: 250, output_tokens: 25 }))
      expect(await seen.points(`gen_ai.client.inference.usage.${kind}`)).toMatchObject([
        { attributes, value },
      ])
  })
