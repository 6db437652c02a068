import { createAnthropic } from '@ai-sdk/anthropic'
import { ChatAnthropic } from '@langchain/anthropic'
import { type AIMessage, HumanMessage, type ToolMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { anthropic as anthropicModel } from '../../models/anthropic.ts'
import type { ModelEvent, ModelRequest } from '../../protocol/index.ts'
import { asker } from '../protocols.test-kit.ts'
import {
  mixer,
  pick as pickParam,
  resultsOf,
  scripted,
  searchTool,
  serveMessages,
} from './anthropic.test-kit.ts'

const usage = { inputTokens: 20, outputTokens: 5, cacheReadTokens: 6, cacheWriteTokens: 3 }

/** Thinks, calls a tool of the client twice in one round, and repeats the results. */
const painter = () =>
  scripted((request) => {
    const results = resultsOf(request)
    if (results.length > 0) return [{ text: `I have ${results.join(' and ')}.` }, { usage }]
    return [
      { reasoning: 'Which color?' },
      { text: 'I ask.' },
      { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
      { call: 'pick', input: { of: 'sea' }, id: 'call_2' },
    ]
  })

const painted = 'I have pick: blue sky and pick: blue sea.'

describe('@ai-sdk/anthropic', () => {
  const pick = tool({ inputSchema: z.object({ of: z.string() }), execute: ({ of }) => `blue ${of}` })
  const options = { prompt: 'Paint.', tools: { pick }, stopWhen: stepCountIs(3) }
  const modelAt = (url: string, name = 'miller') =>
    createAnthropic({ baseURL: `${url}/v1`, apiKey: 'none' })(name)

  test('generateText runs its tools', async () => {
    const { url, app } = await serveMessages(painter())
    const { text, steps } = await generateText({ model: modelAt(url), ...options })
    expect(text).toBe(painted)
    expect(steps[0]).toMatchObject({ finishReason: 'tool-calls', reasoningText: 'Which color?' })
    expect(steps[1]?.usage).toMatchObject({ inputTokens: 20, outputTokens: 5 })
    expect(steps[1]?.usage.inputTokenDetails).toMatchObject({ cacheReadTokens: 6, cacheWriteTokens: 3 })
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test('streamText runs its tools', async () => {
    const { url, app } = await serveMessages(painter())
    const result = streamText({ model: modelAt(url), ...options })
    expect(await result.text).toBe(painted)
    const [first, second] = await result.steps
    expect(first).toMatchObject({ finishReason: 'tool-calls', reasoningText: 'Which color?', text: 'I ask.' })
    expect(first?.toolResults.map(({ output }) => output)).toEqual(['blue sky', 'blue sea'])
    expect(second?.usage).toMatchObject({ inputTokens: 20, outputTokens: 5 })
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test.each(['generateText', 'streamText'])('%s shows what the server does at the same time', async (way) => {
    const { mixed, runs } = mixer()
    const { url } = await serveMessages(mixed)
    const given = { model: modelAt(url), ...options }
    const { text, steps } = way === 'generateText' ? await generateText(given) : streamText(given)
    expect(await text).toBe('search: found wheat, pick: blue sky')
    const [first] = await steps
    expect(
      first?.toolCalls.map(({ toolName, providerExecuted = false }) => [toolName, providerExecuted]),
    ).toEqual([
      ['search', true],
      ['pick', false],
    ])
    expect(runs).toEqual(['wheat'])
  })

  test.each(['generateText', 'streamText'])('%s asks for approvals in words', async (way) => {
    const { url } = await serveMessages(asker())
    const given = { model: modelAt(url, 'asker'), prompt: 'Cut.' }
    const { text } = way === 'generateText' ? await generateText(given) : streamText(given)
    expect(await text).toMatch(/cut_rope.*approve/s)
  })

  test('reports errors with their status', async () => {
    const { url } = await serveMessages(painter(), { auth: () => null })
    const asked = generateText({ model: modelAt(url), prompt: 'Paint.', maxRetries: 0 })
    await expect(asked).rejects.toMatchObject({ statusCode: 401 })
  })
})

describe('ChatAnthropic of LangChain', () => {
  const pick = langchainTool(({ of }: { of: string }) => `blue ${of}`, {
    name: 'pick',
    description: 'Picks a color',
    schema: z.object({ of: z.string() }),
  })
  const modelAt = (url: string) =>
    new ChatAnthropic({ model: 'miller', apiKey: 'none', maxRetries: 0, anthropicApiUrl: url })

  test.each([false, true])('runs its tools (stream: %s)', async (stream) => {
    const { url, app } = await serveMessages(painter())
    const model = modelAt(url).bindTools([pick])
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
    expect(answered.text).toBe(painted)
    // From a stream it reads only the input tokens of the first event, where they are not known yet.
    expect(answered.usage_metadata).toMatchObject({ input_tokens: stream ? 0 : 20, output_tokens: 5 })
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test.each([false, true])("reads past the server's tools (stream: %s)", async (stream) => {
    const miller = scripted(
      (_, index) =>
        index === 0 ? [{ text: 'I look.' }, { call: 'search', input: { of: 'rye' } }] : ' There.',
      [searchTool().search],
    )
    const { url } = await serveMessages(miller)
    const model = modelAt(url)
    const chunks = stream ? await Array.fromAsync(await model.stream('Hi')) : [await model.invoke('Hi')]
    expect(chunks.map(({ text }) => text).join('')).toBe('I look. There.')
  })
})

describe('our own model for Messages', () => {
  const inputSchema = pickParam.input_schema
  const tools = [{ name: 'pick', description: 'Picks', inputSchema }]

  async function read(url: string, request: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
    const model = anthropicModel('miller', { baseURL: `${url}/v1`, apiKey: 'none' })
    const messages = [{ role: 'user' as const, content: 'Paint.' }]
    const given = { messages, tools, settings: {}, toolChoice: 'auto' as const, ...request }
    return Array.fromAsync(model.stream(given, { signal: new AbortController().signal }))
  }

  const joined = (events: readonly ModelEvent[], type: 'text' | 'reasoning') =>
    events.map((event) => (event.type === type ? event.text : '')).join('')

  test('reads the same that the agent said', async () => {
    const all = { ...usage, reasoningTokens: 2 }
    const miller = scripted(() => [
      { reasoning: 'Which sky?' },
      { text: 'I ask "you".\n\u2028' },
      { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
      { call: 'pick', input: {}, id: 'call_2' },
      { usage: all },
    ])
    const { url } = await serveMessages(miller)
    const events = await read(url)
    expect(joined(events, 'reasoning')).toBe('Which sky?')
    expect(joined(events, 'text')).toBe('I ask "you".\n\u2028')
    expect(events.filter(({ type }) => type === 'tool-call')).toMatchObject([
      { callId: 'call_1', name: 'pick', input: { of: 'sky' } },
      { callId: 'call_2', name: 'pick', input: {} },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'done', finish: 'tool-calls', usage: all })
  })

  test("reads the server's tools as the provider's", async () => {
    const { mixed } = mixer()
    const { url } = await serveMessages(mixed)
    expect((await read(url)).filter(({ type }) => type === 'provider-tool').at(-1)).toMatchObject({
      callId: 'call_s',
      name: 'search',
      output: [{ type: 'text', text: 'found wheat' }],
    })
  })
})

test('a request like that of Claude Code', async () => {
  const requests: ModelRequest[] = []
  const miller = scripted((request) => {
    requests.push(request)
    return 'Yes.'
  })
  const { url } = await serveMessages(miller)
  const response = await fetch(`${url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer none',
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14',
      'anthropic-version': '2023-06-01',
      'x-claude-code-session-id': 'f4a1',
      'x-stainless-retry-count': '0',
    },
    body: JSON.stringify({
      model: 'miller',
      max_tokens: 32_000,
      stream: true,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: 'user_1' },
      system: [
        { type: 'text', text: 'You are Claude Code.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      tools: [{ ...pickParam, eager_input_streaming: true }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '<system-reminder>Be nice.</system-reminder>' },
            { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } },
          ],
        },
        { role: 'system', content: 'Today is Monday.' },
      ],
    }),
  })
  expect(await response.text()).toContain('"text_delta","text":"Yes."')
  expect(requests[0]).toMatchObject({
    messages: [
      { role: 'system', content: 'You are Claude Code.\n\nToday is Monday.' },
      { role: 'user', content: [{ text: '<system-reminder>Be nice.</system-reminder>' }, { text: 'Hi' }] },
    ],
    settings: { maxOutputTokens: 32_000, reasoning: 'medium' },
  })
})
