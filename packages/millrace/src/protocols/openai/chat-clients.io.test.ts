import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type AIMessage, HumanMessage, type ToolMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import { scripted, serveModels } from './openai.test-kit.ts'

const resultsOf = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? textOf(message) : []))

const usage = { inputTokens: 11, outputTokens: 5 }

/** Calls a tool of the client twice in one round. */
const painter = () =>
  scripted((request) => {
    const results = resultsOf(request)
    if (results.length > 0) return [{ text: `I have ${results.join(' and ')}.` }, { usage }]
    return [
      { reasoning: 'Which color?' },
      { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
      { call: 'pick', input: { of: 'sea' }, id: 'call_2' },
    ]
  })

describe.each([
  [
    '@ai-sdk/openai-compatible',
    (baseURL: string) =>
      createOpenAICompatible({ name: 'millrace', baseURL, includeUsage: true }).chatModel('miller'),
  ],
  ['@ai-sdk/openai', (baseURL: string) => createOpenAI({ baseURL, apiKey: 'none' }).chat('miller')],
])('%s', (name, modelAt) => {
  const pick = tool({ inputSchema: z.object({ of: z.string() }), execute: ({ of }) => `blue ${of}` })
  const options = { prompt: 'Paint.', tools: { pick }, stopWhen: stepCountIs(3) }

  test('generateText runs its tools', async () => {
    const { baseURL, app } = await serveModels(painter())
    const { text, steps } = await generateText({ model: modelAt(baseURL), ...options })
    expect(text).toBe('I have blue sky and blue sea.')
    expect(steps[0]?.finishReason).toBe('tool-calls')
    expect(steps[1]?.usage).toMatchObject(usage)
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test('streamText runs its tools', async () => {
    const { baseURL, app } = await serveModels(painter())
    const result = streamText({ model: modelAt(baseURL), ...options })
    expect(await result.text).toBe('I have blue sky and blue sea.')
    const [first, second] = await result.steps
    // The provider for OpenAI does not read reasoning.
    if (name.endsWith('compatible')) expect(first?.reasoningText).toBe('Which color?')
    expect(first?.toolResults.map(({ output }) => output)).toEqual(['blue sky', 'blue sea'])
    expect(second?.usage).toMatchObject(usage)
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test('reports an error with its status', async () => {
    const { baseURL } = await serveModels(painter(), { auth: () => null })
    const asked = generateText({ model: modelAt(baseURL), prompt: 'Paint.', maxRetries: 0 })
    await expect(asked).rejects.toMatchObject({ statusCode: 401 })
  })
})

describe('ChatOpenAI of LangChain', () => {
  const pick = langchainTool(({ of }: { of: string }) => `blue ${of}`, {
    name: 'pick',
    description: 'Picks a color',
    schema: z.object({ of: z.string() }),
  })
  const modelAt = (baseURL: string) =>
    new ChatOpenAI({ model: 'miller', apiKey: 'none', maxRetries: 0, configuration: { baseURL } })

  test.each([false, true])('runs its tools (stream: %s)', async (stream) => {
    const { baseURL, app } = await serveModels(painter())
    const model = modelAt(baseURL).bindTools([pick])
    const ask = async (messages: (HumanMessage | AIMessage | ToolMessage)[]): Promise<AIMessage> => {
      if (!stream) return model.invoke(messages)
      const [first, ...rest] = await Array.fromAsync(await model.stream(messages))
      return rest.reduce((joined, chunk) => joined.concat(chunk), first as NonNullable<typeof first>)
    }
    const asked = new HumanMessage('Paint.')
    const called = await ask([asked])
    expect(called.tool_calls).toMatchObject([
      { id: 'call_1', name: 'pick', args: { of: 'sky' } },
      { id: 'call_2', name: 'pick', args: { of: 'sea' } },
    ])
    const results = await Promise.all((called.tool_calls ?? []).map((call) => pick.invoke(call)))
    const answered = await ask([asked, called, ...(results as ToolMessage[])])
    expect(answered.text).toBe('I have blue sky and blue sea.')
    expect(answered.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 5 })
    expect((await app.threads()).threads).toHaveLength(1)
  })
})
