import { zodResponseFormat } from 'openai/helpers/zod'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openaiChat } from '../../models/openai.ts'
import type { ModelEvent, ModelRequest } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import { tool } from '../../tools/index.ts'
import { asker, spender, story, storyteller } from '../protocols.test-kit.ts'
import { openaiApi } from './index.ts'
import { clientTool, scripted, serveModels } from './openai.test-kit.ts'

const messages = [{ role: 'user' as const, content: 'Tell me a story.' }]

/** The results in the last messages of a request. */
const resultsOf = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? `${message.name}: ${textOf(message)}` : []))

/** A tool of the server, with how often it has run. */
function searchTool() {
  const runs: string[] = []
  const search = tool({
    name: 'search',
    description: 'Searches',
    input: z.object({ of: z.string() }),
    run({ of }) {
      runs.push(of)
      return `found ${of}`
    },
  })
  return { search, runs }
}

test('a completion is returned whole, with all headers', async () => {
  const { client } = await serveModels(storyteller())
  const { data, response, request_id } = await client.chat.completions
    .create({ model: 'storyteller', messages })
    .withResponse()
  expect(data).toMatchObject({
    id: expect.stringMatching(/^chatcmpl_/),
    object: 'chat.completion',
    model: 'storyteller',
    choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: story, refusal: null } }],
  })
  expect(request_id).toMatch(/^req_\w{32}$/)
  const headers = Object.fromEntries(response.headers)
  expect(headers['openai-processing-ms']).toMatch(/^\d+$/)
  expect(headers['x-ratelimit-remaining-requests']).toMatch(/^\d+$/)
  expect(headers['x-ratelimit-reset-requests']).toMatch(/^\d+ms$/)
  expect(data.id).toContain(headers['x-thread-id'])
})

test('a completion is streamed, with all headers', async () => {
  const { client } = await serveModels(storyteller())
  const { data, response } = await client.chat.completions
    .create({ model: 'storyteller', messages, stream: true })
    .withResponse()
  let text = ''
  for await (const { choices } of data) text += choices[0]?.delta.content ?? ''
  expect(text).toBe(story)
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
  expect(response.headers.get('x-thread-id')).toMatch(/./)
})

test('the stream helper gathers text, reasoning and usage', async () => {
  const usage = { inputTokens: 11, outputTokens: 5, reasoningTokens: 2, cacheReadTokens: 3 }
  const miller = scripted(() => [{ reasoning: 'A mill.' }, { text: 'It turns.' }, { usage }])
  const { client } = await serveModels(miller)
  const stream = client.chat.completions.stream({
    model: 'miller',
    messages,
    stream_options: { include_usage: true },
  })
  const reasoning: unknown[] = []
  stream.on('chunk', ({ choices }) => {
    const delta = choices[0]?.delta
    if (delta && 'reasoning_content' in delta) reasoning.push(delta.reasoning_content)
  })
  const { choices } = await stream.finalChatCompletion()
  expect(choices[0]?.message.content).toBe('It turns.')
  expect(reasoning.join('')).toBe('A mill.')
  expect(await stream.totalUsage()).toMatchObject({
    prompt_tokens: 11,
    completion_tokens: 5,
    total_tokens: 16,
  })
})

/** Calls the client's tool for each color, and repeats the results. */
const painter = () =>
  scripted((request) => {
    const results = resultsOf(request)
    if (results.length > 0) return `I have ${results.join(', ')}.`
    return [
      { text: 'I ask.' },
      { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
      { call: 'pick', input: { of: 'sea' }, id: 'call_2' },
    ]
  })

test.each([false, true])("runTools runs the client's parallel calls (stream: %s)", async (stream) => {
  const { client, app } = await serveModels(painter())
  const ran: string[] = []
  const pick = {
    type: 'function' as const,
    function: {
      name: 'pick',
      description: 'Picks a color',
      parameters: { type: 'object', properties: { of: { type: 'string' } } },
      parse: JSON.parse as (text: string) => { of: string },
      function({ of }: { of: string }) {
        ran.push(of)
        return `blue ${of}`
      },
    },
  }
  const runner = stream
    ? client.chat.completions.runTools({ model: 'miller', messages, tools: [pick], stream })
    : client.chat.completions.runTools({ model: 'miller', messages, tools: [pick] })
  expect(await runner.finalContent()).toBe('I have pick: blue sky, pick: blue sea.')
  expect(ran).toEqual(['sky', 'sea'])
  expect((await app.threads()).threads).toHaveLength(1)
})

test.each([false, true])(
  "a round can mix the server's and the client's tools (stream: %s)",
  async (stream) => {
    const { search, runs } = searchTool()
    const mixed = scripted(
      (request, index) => {
        if (index > 0) return resultsOf(request).join(', ')
        return [
          { call: 'search', input: { of: 'wheat' }, id: 'call_s' },
          { call: 'pick', input: { of: 'sky' }, id: 'call_c' },
        ]
      },
      [search],
    )
    const { client, app } = await serveModels(mixed)
    const params = { model: 'miller', tools: [clientTool('pick')] }
    const ask = async (messages: Parameters<typeof client.chat.completions.stream>[0]['messages']) => {
      const completion = stream
        ? await client.chat.completions.stream({ ...params, messages }).finalChatCompletion()
        : await client.chat.completions.create({ ...params, messages })
      return completion.choices[0] as NonNullable<(typeof completion.choices)[0]>
    }
    const first = await ask(messages)
    expect(first.finish_reason).toBe('tool_calls')
    expect(first.message.tool_calls).toMatchObject([{ id: 'call_c', function: { name: 'pick' } }])
    const result = { role: 'tool' as const, tool_call_id: 'call_c', content: 'blue' }
    const last = await ask([...messages, first.message, result])
    expect(last.message.content).toBe('search: found wheat, pick: blue')
    expect(runs).toEqual(['wheat'])
    expect((await app.threads()).threads).toHaveLength(1)
  },
)

test("the server's tools run inside, and the texts around them are paragraphs", async () => {
  const { search } = searchTool()
  const miller = scripted(
    (_, index) =>
      index === 0 ? [{ text: 'I look.' }, { call: 'search', input: { of: 'rye' } }] : 'There it is.',
    [search],
  )
  const { client } = await serveModels(miller)
  const stream = client.chat.completions.stream({ model: 'miller', messages })
  const { choices } = await stream.finalChatCompletion()
  expect(choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'I look.\n\nThere it is.' },
  })
  expect(choices[0]?.message.tool_calls ?? []).toEqual([])
})

test('an image reaches the model', async () => {
  const seen: unknown[] = []
  const viewer = scripted(({ messages }) => {
    seen.push(messages.at(-1)?.content)
    return 'A mill.'
  })
  const { client } = await serveModels(viewer)
  const content = [
    { type: 'text' as const, text: 'What is this?' },
    { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAEC' } },
  ]
  await client.chat.completions.create({ model: 'miller', messages: [{ role: 'user', content }] })
  expect(seen).toEqual([
    [
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data: 'AAEC' },
    ],
  ])
})

test('system messages, settings and the tool choice reach the model', async () => {
  const requests: ModelRequest[] = []
  const miller = scripted((request) => {
    requests.push(request)
    return 'Yes.'
  })
  const { client } = await serveModels(miller)
  await client.chat.completions.create({
    model: 'miller',
    messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
    tools: [clientTool('pick')],
    tool_choice: 'none',
    temperature: 0.5,
    max_completion_tokens: 99,
  })
  expect(requests[0]).toMatchObject({
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
    tools: [{ name: 'pick', description: 'Runs pick' }],
    toolChoice: 'none',
    settings: { temperature: 0.5, maxOutputTokens: 99 },
  })
})

test.each([false, true])('parse returns structured output (stream: %s)', async (stream) => {
  const Weather = z.object({ city: z.string(), degrees: z.number() })
  const miller = scripted(({ output }) => (output ? '{"city":"Ulm","degrees":7}' : 'no schema'))
  const { client } = await serveModels(miller)
  const params = { model: 'miller', messages, response_format: zodResponseFormat(Weather, 'weather') }
  const { choices } = stream
    ? await client.chat.completions.stream(params).finalChatCompletion()
    : await client.chat.completions.parse(params)
  expect(choices[0]?.message.parsed).toEqual({ city: 'Ulm', degrees: 7 })
})

test('an approval is asked for in words, and a reply decides', async () => {
  const { client, app } = await serveModels(asker())
  const params = { model: 'asker' }
  const asked = await client.chat.completions.create({ ...params, messages })
  const said = asked.choices[0]?.message
  expect(said?.content).toMatch(/cut_rope.*approve.*deny/s)
  const answered = await client.chat.completions.create({
    ...params,
    messages: [
      ...messages,
      { role: 'assistant', content: said?.content ?? '' },
      { role: 'user', content: 'approve' },
    ],
  })
  expect(answered.choices[0]?.message.content).toBe('It is cut.')
  expect((await app.threads()).threads).toHaveLength(1)
})

test.each([
  ['approve', 'I saw a mill.', 'stop'],
  ['deny', '', 'length'],
])('more of a budget is asked for in words: %s', async (reply, text, finish) => {
  const { client } = await serveModels(spender())
  const params = { model: 'spender' }
  const asked = await client.chat.completions.create({ ...params, messages })
  const said = asked.choices[0]?.message.content ?? ''
  expect(said).toMatch(/budget of 1 round for this run is spent.*Allow another 1 round\?.*approve.*deny/s)
  expect(asked.choices[0]?.message.tool_calls).toBeUndefined()
  const answered = await client.chat.completions.create({
    ...params,
    messages: [...messages, { role: 'assistant', content: said }, { role: 'user', content: reply }],
  })
  expect(answered.choices[0]).toMatchObject({ message: { content: text }, finish_reason: finish })
})

test('the agents are listed as models', async () => {
  const { client } = await serveModels({ miller: storyteller(), baker: storyteller() })
  const { data } = await client.models.list()
  expect(data.map(({ id }) => id)).toEqual(['miller', 'baker'])
  expect(await client.models.retrieve('baker')).toMatchObject({ id: 'baker', object: 'model', created: 0 })
  await expect(client.models.retrieve('butcher')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
})

test('an agent can answer for all model names that no agent has', async () => {
  const { client } = await serveModels(storyteller(), { openai: { agent: 'storyteller' } })
  const { model, choices } = await client.chat.completions.create({ model: 'gpt-4.1', messages })
  expect(model).toBe('gpt-4.1')
  expect(choices[0]?.message.content).toBe(story)
  expect(await client.models.retrieve('gpt-4.1')).toMatchObject({ id: 'gpt-4.1' })
})

test('our own model for Chat Completions reads the same that the agent said', async () => {
  const usage = {
    inputTokens: 11,
    outputTokens: 9,
    reasoningTokens: 2,
    cacheReadTokens: 3,
    cacheWriteTokens: 1,
  }
  const miller = scripted(() => [
    { reasoning: 'Which sky?' },
    { text: 'I ask "you".' },
    { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
    { call: 'pick', input: { of: 'sea' }, id: 'call_2' },
    { usage },
  ])
  const { baseURL } = await serveModels(miller)
  const model = openaiChat('miller', { baseURL, apiKey: 'none' })
  const inputSchema = { type: 'object', properties: { of: { type: 'string' } } }
  const events: ModelEvent[] = []
  for await (const event of model.stream(
    {
      messages,
      tools: [{ name: 'pick', description: 'Picks', inputSchema }],
      toolChoice: 'auto',
      settings: {},
    },
    { signal: new AbortController().signal },
  ))
    events.push(event)
  const joined = (type: 'text' | 'reasoning') =>
    events.map((event) => (event.type === type ? event.text : '')).join('')
  expect(joined('reasoning')).toBe('Which sky?')
  expect(joined('text')).toBe('I ask "you".')
  expect(events.filter(({ type }) => type === 'tool-call')).toMatchObject([
    { callId: 'call_1', name: 'pick', input: { of: 'sky' } },
    { callId: 'call_2', name: 'pick', input: { of: 'sea' } },
  ])
  expect(events.at(-1)).toMatchObject({ type: 'done', finish: 'tool-calls', usage })
})

test('options that do not fit are rejected with what to do', async () => {
  expect(() => openaiApi({ path: 'v1' })).toThrow("the option 'path' must be a path such as '/v1'")
  await expect(serveModels(storyteller(), { openai: { agent: 'miller' } })).rejects.toThrow(
    "there is no agent 'miller'. The server has: storyteller",
  )
})
