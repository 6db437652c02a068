import type Anthropic from '@anthropic-ai/sdk'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import { served } from '../../server/server.test-kit.ts'
import { openaiApi } from '../openai/index.ts'
import { muser, sseFrames, story, storyteller } from '../protocols.test-kit.ts'
import { clientOf, pick, scripted, serveMessages, textIn } from './anthropic.test-kit.ts'
import { anthropicApi } from './index.ts'

type Params = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'>
type Turns = Anthropic.MessageParam[]

const messages: Turns = [{ role: 'user', content: 'Tell me a story.' }]
const ask = { max_tokens: 1000, messages }

/** Both ways to get a message. */
const ways = [
  ['in one piece', (client: Anthropic, params: Params) => client.messages.create(params)],
  ['streamed', (client: Anthropic, params: Params) => client.messages.stream(params).finalMessage()],
] as const

test.each(ways)('a message %s has its text, its id and all headers', async (_, get) => {
  const { client } = await serveMessages(storyteller())
  const message = await get(client, { model: 'storyteller', ...ask })
  expect(message).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: 'storyteller',
    content: [{ type: 'text', text: story }],
    stop_reason: 'end_turn',
    stop_sequence: null,
  })
})

test.each([false, true])(
  'the headers name the request, the thread and the limits (stream: %s)',
  async (stream) => {
    const { client } = await serveMessages(storyteller())
    const { response, request_id: id } = await client.messages
      .create({ model: 'storyteller', ...ask, stream })
      .withResponse()
    expect(id).toMatch(/^req_\w{32}$/)
    const header = (name: string) => response.headers.get(name) ?? ''
    expect(header('x-thread-id')).toMatch(/./)
    expect(Number(header('anthropic-ratelimit-requests-limit'))).toBeGreaterThan(0)
    expect(header('anthropic-ratelimit-requests-remaining')).toMatch(/^\d+$/)
    expect(header('anthropic-ratelimit-requests-reset')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*Z$/)
  },
)

test('the stream helper reports text, thinking and inputs as they grow', async () => {
  const miller = scripted(() => [
    { reasoning: 'Which sky?' },
    { text: 'I ask "you".' },
    { call: 'pick', input: { of: 'the whole sky' }, id: 'call_1' },
  ])
  const { client } = await serveMessages(miller)
  const seen = { text: '', thinking: '', inputs: [] as unknown[], signature: '' }
  const tools = [{ ...pick, eager_input_streaming: true }]
  const stream = client.messages.stream({ model: 'miller', ...ask, tools })
  stream.on('text', (delta) => {
    seen.text += delta
  })
  stream.on('thinking', (delta) => {
    seen.thinking += delta
  })
  stream.on('signature', (signature) => {
    seen.signature = signature
  })
  stream.on('inputJson', (_, snapshot) => seen.inputs.push(snapshot))
  const { content, stop_reason } = await stream.finalMessage()
  expect(seen).toMatchObject({ text: 'I ask "you".', thinking: 'Which sky?' })
  expect(seen.inputs.at(-1)).toEqual({ of: 'the whole sky' })
  expect(content).toEqual([
    { type: 'thinking', thinking: 'Which sky?', signature: seen.signature },
    { type: 'text', text: 'I ask "you".', citations: null },
    {
      type: 'tool_use',
      id: 'call_1',
      name: 'pick',
      input: { of: 'the whole sky' },
      caller: { type: 'direct' },
    },
  ])
  expect(seen.signature).toMatch(/./)
  expect(stop_reason).toBe('tool_use')
})

test('a conversation continues its thread, and one that the server does not know starts another', async () => {
  const miller = scripted(({ messages }) => `I read ${messages.length}.`)
  const { client, app } = await serveMessages(miller)
  const params = { model: 'miller', max_tokens: 9 }
  const first = await client.messages.create({ ...params, messages })
  const next: Turns = [
    { role: 'assistant', content: first.content },
    { role: 'user', content: 'And then?' },
  ]
  const second = await client.messages.stream({ ...params, messages: [...messages, ...next] }).finalMessage()
  expect(textIn(second)).toBe('I read 3.')
  expect((await app.threads()).threads).toHaveLength(1)
  const other: Turns = [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello' }, ...messages]
  expect(textIn(await client.messages.create({ ...params, messages: other }))).toBe('I read 3.')
  expect((await app.threads()).threads).toHaveLength(2)
})

test('x-thread-id names a thread', async () => {
  const miller = scripted(({ messages }) => `I read ${messages.length}.`)
  const { client, app } = await serveMessages(miller)
  const headers = { 'x-thread-id': 'my chat' }
  const say = () => client.messages.create({ model: 'miller', ...ask }, { headers })
  expect([textIn(await say()), textIn(await say())]).toEqual(['I read 1.', 'I read 3.'])
  expect((await app.threads()).threads).toHaveLength(1)
})

test('images, the system prompt and settings reach the model', async () => {
  const requests: ModelRequest[] = []
  const miller = scripted((request) => {
    requests.push(request)
    return 'A mill.'
  })
  const { client } = await serveMessages(miller)
  await client.messages.create({
    model: 'miller',
    max_tokens: 99,
    system: 'Be brief.',
    thinking: { type: 'disabled' },
    stop_sequences: ['END'],
    tools: [pick],
    tool_choice: { type: 'none' },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAEC' } },
          { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral' } },
        ],
      },
    ],
  })
  expect(requests[0]).toMatchObject({
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'image', mediaType: 'image/png', data: 'AAEC' },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ],
    tools: [{ name: 'pick', description: 'Picks a color' }],
    toolChoice: 'none',
    settings: { maxOutputTokens: 99, stop: ['END'], reasoning: 'none' },
  })
})

test.each(ways)('the usage of a message %s counts cached tokens apart', async (_, get) => {
  const usage = {
    inputTokens: 100,
    outputTokens: 9,
    reasoningTokens: 2,
    cacheReadTokens: 60,
    cacheWriteTokens: 30,
  }
  const { client } = await serveMessages(scripted(() => [{ text: 'Yes.' }, { usage }]))
  const message = await get(client, { model: 'miller', ...ask })
  expect(message.usage).toMatchObject({
    input_tokens: 10,
    cache_read_input_tokens: 60,
    cache_creation_input_tokens: 30,
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 2 },
  })
})

test.each(ways)('a message %s says that the model refused, or was cut off', async (_, get) => {
  const miller = scripted(({ messages }) => {
    const [asked] = messages
    return [{ text: 'No' }, { finish: asked && textOf(asked) === 'long' ? 'length' : 'refusal' }]
  })
  const { client } = await serveMessages(miller)
  const say = (content: string) =>
    get(client, { model: 'miller', max_tokens: 9, messages: [{ role: 'user', content }] })
  expect(await say('bad')).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } })
  expect(await say('long')).toMatchObject({ stop_reason: 'max_tokens', stop_details: null })
})

test('a stream shows signs of life while the agent is busy', async () => {
  const { url } = await serveMessages(muser(), { heartbeatMs: 10 })
  const controller = new AbortController()
  const { body } = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'muser', stream: true, ...ask }),
    signal: controller.signal,
  })
  for await (const { event, data } of sseFrames(body))
    if (event === 'ping') {
      expect(data).toBe('{"type":"ping"}')
      break
    }
  controller.abort()
})

test('parse returns structured output', async () => {
  const Weather = z.object({ city: z.string(), degrees: z.number() })
  const miller = scripted(({ output }) => (output ? '{"city":"Ulm","degrees":7}' : 'no schema'))
  const { client } = await serveMessages(miller)
  const format = zodOutputFormat(Weather)
  const message = await client.messages.parse({ model: 'miller', ...ask, output_config: { format } })
  expect(message.parsed_output).toEqual({ city: 'Ulm', degrees: 7 })
})

test('tokens are counted, and nothing is sent to the agent', async () => {
  const { client, app } = await serveMessages(storyteller())
  const count = (content: string) =>
    client.messages.countTokens({ model: 'storyteller', messages: [{ role: 'user', content }] })
  expect(await count('x'.repeat(4000))).toEqual({ input_tokens: 1000 })
  expect(await client.beta.messages.countTokens({ model: 'storyteller', messages })).toEqual({
    input_tokens: 4,
    context_management: null,
  })
  expect((await app.threads()).threads).toEqual([])
})

test('the agents are listed as models', async () => {
  const { client } = await serveMessages({ miller: storyteller(), baker: storyteller() })
  const { data } = await client.models.list()
  expect(data.map(({ id, type }) => [id, type])).toEqual([
    ['miller', 'model'],
    ['baker', 'model'],
  ])
  expect(await client.models.retrieve('baker')).toMatchObject({ id: 'baker', display_name: 'baker' })
})

test('both vendors are served by one server', async () => {
  const { app } = served({ miller: storyteller() }, { protocols: [openaiApi(), anthropicApi()] })
  const { url } = await app.listen()
  const client = clientOf(url)
  expect(textIn(await client.messages.create({ model: 'miller', ...ask }))).toBe(story)
  expect((await client.models.list()).data).toMatchObject([{ id: 'miller' }])
  const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
  const { choices } = await other.chat.completions.create({ model: 'miller', messages: messages as never })
  expect(choices[0]?.message.content).toBe(story)
  expect((await other.models.list()).data).toMatchObject([{ id: 'miller' }])
})

test('an agent can answer for all model names that no agent has', async () => {
  const { client } = await serveMessages(storyteller(), { protocol: { agent: 'storyteller' } })
  const { model, content } = await client.messages.create({ model: 'claude-opus-5', ...ask })
  expect(model).toBe('claude-opus-5')
  expect(textIn({ content })).toBe(story)
})

test('invalid options are rejected at the start', () => {
  expect(() => anthropicApi({ path: 'v1' })).toThrow("'path' must be a path such as '/v1'")
  expect(() => anthropicApi({ onDisconnect: 'wait' as never })).toThrow("'onDisconnect'")
  expect(() => served(storyteller(), { protocols: [anthropicApi({ agent: 'baker' })] })).toThrow(
    "no agent 'baker'",
  )
})
