import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type {
  JsonObject,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  ModelSettings,
} from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import { partReader } from './ai-sdk/parts.ts'
import { fromAISDK } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { detectModel, fallback, fromGenerate } from './index.ts'
import { openai, openaiChat } from './openai.ts'
import { recorder } from './openai-chat/provider.test-kit.ts'

// What was found by people who looked for it.

const apiKey = 'k'
const user: Message = { role: 'user', content: 'x' }

type Options = { readonly baseURL?: string; readonly name?: string }

const makers = {
  'Chat Completions': (fetch, { name = 'gpt-4.1', ...rest }) => openaiChat(name, { apiKey, fetch, ...rest }),
  Responses: (fetch, { name = 'gpt-5.5', ...rest }) => openai(name, { apiKey, fetch, ...rest }),
  Messages: (fetch, { name = 'claude-sonnet-4-5', ...rest }) => anthropic(name, { apiKey, fetch, ...rest }),
} satisfies Record<string, (fetch: ReturnType<typeof recorder>['fetch'], options: Options) => Model>

type Wire = keyof typeof makers
const wires = Object.keys(makers) as Wire[]

/** What a wire sends for a request. */
async function sent(
  wire: Wire,
  request: Partial<ModelRequest> & { readonly settings?: ModelSettings },
  options: Options = {},
): Promise<JsonObject> {
  const { fetch, requests } = recorder()
  const whole = { messages: [user], tools: [], settings: {}, ...request }
  await read(makers[wire](fetch, options), whole)
  return requests[0]?.body ?? {}
}

/** What a wire makes of an answer, up to its end or its failure. */
async function told(wire: Wire, ...frames: readonly unknown[]) {
  const { fetch } = recorder(frames)
  return read(makers[wire](fetch, {}), {
    messages: [user],
    tools: [{ ...del, inputSchema: {} }],
    settings: {},
  })
}

async function read(model: Model, request: ModelRequest) {
  const events: ModelEvent[] = []
  try {
    for await (const event of model.stream(request, { signal: new AbortController().signal }))
      events.push(event)
  } catch (error) {
    return { events, error }
  }
  return { events, error: undefined }
}

const del = { name: 'del', description: 'Deletes' }
const calls = (events: readonly ModelEvent[]) => events.filter(({ type }) => type === 'tool-call')
const text = (events: readonly ModelEvent[]) =>
  events.map((event) => (event.type === 'text' ? event.text : '')).join('')

describe.each(wires)('%s: what is sent', (wire) => {
  test('a strict tool of an ordinary zod schema has the form that is accepted', async () => {
    const { inputSchema } = tool({ ...del, strict: true, input: z.object({ id: z.string() }), run: () => '' })
    const body = JSON.stringify(await sent(wire, { tools: [{ ...del, inputSchema, strict: true }] }))
    expect(body).toContain('"additionalProperties":false')
    expect(body).toContain('"strict":true')
  })

  test('strict is not asked for where the schema cannot be held', async () => {
    const { inputSchema } = tool({
      ...del,
      input: z.object({ a: z.record(z.string(), z.number()) }),
      run: () => '',
    })
    const body = JSON.stringify(await sent(wire, { tools: [{ ...del, inputSchema, strict: true }] }))
    expect(body).not.toContain('"strict":true')
    expect(body).not.toContain('"additionalProperties":false')
  })

  test('a record in a structured answer stays one', async () => {
    const { inputSchema: output } = tool({
      ...del,
      input: z.object({ a: z.record(z.string(), z.number()) }),
      run: () => '',
    })
    const body = JSON.stringify(await sent(wire, { output }))
    expect(body.replaceAll('\\', '')).toContain('"additionalProperties":{"type":"number"}')
  })

  test.each(['multi_tool_use.parallel', '', 'a'.repeat(200), 'größe'])(
    'a name that a model made up (%j) can be sent',
    async (name) => {
      const messages: Message[] = [
        user,
        { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', name, input: {} }] },
        {
          role: 'tool',
          callId: 'c1',
          name,
          content: [{ type: 'text', text: 'no such tool' }],
          isError: true,
        },
      ]
      const body = JSON.stringify(await sent(wire, { messages }))
      const names = [...body.matchAll(/"name":"([^"]*)"/g)].map(([, found]) => found)
      expect(names).toHaveLength(1)
      expect(names[0]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    },
  )

  test('half of a character is not sent, also inside a result', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'cut \ud83d and 😀 and \\ud83d' },
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', name: 'del', input: {} }] },
      { role: 'tool', callId: 'c1', name: 'del', content: [{ type: 'text', text: 'a \udc00' }] },
    ]
    const body = JSON.stringify(await sent(wire, { messages }))
    expect(body).toContain('cut \ufffd and 😀 and \\\\ud83d')
    expect(body.replaceAll('\\\\ud83d', '')).not.toMatch(/\\ud[89a-f]/)
  })

  test('a file of an earlier turn that it does not take is mentioned; in the last one it is refused', async () => {
    const video = { type: 'file', mediaType: 'video/mp4', data: 'AAAA' } as const
    const asked: Message = { role: 'user', content: [video, { type: 'text', text: 'what is it?' }] }
    const answered: Message = { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] }
    const body = JSON.stringify(await sent(wire, { messages: [asked, answered, user] }))
    expect(body).toContain('a file of type video/mp4 was left out')
    const { fetch } = recorder()
    const { error } = await read(makers[wire](fetch, {}), {
      messages: [answered, asked],
      tools: [],
      settings: {},
    })
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('video/mp4') })
  })

  test('what cannot be written as JSON is said to be that', async () => {
    const { fetch } = recorder()
    const settings = { extra: { big: 1n as never } }
    const { error } = await read(makers[wire](fetch, {}), { messages: [user], tools: [], settings })
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('settings.extra') })
  })

  test('a choice of tools holds where only the provider has tools', async () => {
    const settings = { extra: { tools: [{ type: 'web_search', name: 'web_search' }] } }
    expect(await sent(wire, { toolChoice: 'required', settings })).toHaveProperty('tool_choice')
  })
})

describe('what one wire is sent', () => {
  test('a file in what is to be answered is refused, also if more was said after it', async () => {
    const { fetch } = recorder()
    const file: Message = { role: 'user', content: [{ type: 'file', mediaType: 'video/mp4', data: 'AAAA' }] }
    const { error } = await read(makers.Messages(fetch, {}), {
      messages: [file, user],
      tools: [],
      settings: {},
    })
    expect(error).toMatchObject({ code: 'invalid_input' })
  })

  test('nothing of a turn is left that would be thinking alone', async () => {
    const thought = {
      type: 'reasoning',
      text: 'x',
      opaque: { provider: 'anthropic', data: { type: 'thinking', signature: 's' } },
    } as const
    const data = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
    const search = {
      type: 'provider-tool',
      callId: 'srvtoolu_1',
      name: 'web_search',
      opaque: { provider: 'anthropic', data },
    } as const
    const { messages } = await sent('Messages', {
      messages: [user, { role: 'assistant', content: [thought, search] }, user],
    })
    expect(JSON.stringify(messages)).not.toContain('thinking')
  })

  test('Mistral gets no user right behind a tool', async () => {
    const messages: Message[] = [
      user,
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', name: 'del', input: {} }] },
      {
        role: 'tool',
        callId: 'c1',
        name: 'del',
        content: [{ type: 'image', url: 'https://a.example/a.png' }],
      },
      user,
    ]
    const roles = async (baseURL: string) => {
      const { messages: list } = await sent('Chat Completions', { messages }, { baseURL })
      return (list as { role: string }[]).map(({ role }) => role)
    }
    expect(await roles('https://api.mistral.ai/v1')).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'user',
    ])
    messages.splice(3, 0, { role: 'assistant', content: [{ type: 'reasoning', text: 'only a thought' }] })
    expect(await roles('https://api.mistral.ai/v1')).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'user',
    ])
    expect(await roles('https://api.openai.com/v1')).toEqual(['user', 'assistant', 'tool', 'user', 'user'])
  })

  test('reasoning does not go to a model that does not reason', async () => {
    const data = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
    const said: Message = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: '', opaque: { provider: 'openai', data } },
        { type: 'text', text: 'a' },
      ],
    }
    const messages = [user, said, user]
    expect(JSON.stringify(await sent('Responses', { messages }))).toContain('sealed')
    expect(JSON.stringify(await sent('Responses', { messages }, { name: 'gpt-4.1' }))).not.toContain('sealed')
  })

  test('what the caller wants included comes beside the encrypted reasoning', async () => {
    const settings = { extra: { include: ['file_search_call.results'] } }
    expect(await sent('Responses', { settings })).toMatchObject({
      include: ['reasoning.encrypted_content', 'file_search_call.results'],
    })
  })

  test('thinking stays on through a turn that began with it', async () => {
    const thought = {
      type: 'reasoning',
      text: 'x',
      opaque: { provider: 'anthropic', data: { type: 'thinking', signature: 's' } },
    } as const
    const round = (callId: string, thinks: boolean): Message[] => [
      {
        role: 'assistant',
        content: [...(thinks ? [thought] : []), { type: 'tool-call', callId, name: 'del', input: {} }],
      },
      { role: 'tool', callId, name: 'del', content: [{ type: 'text', text: 'r' }] },
    ]
    const settings = { reasoning: 'low' } as const
    const begun = [user, ...round('a', true), ...round('b', false)]
    expect(await sent('Messages', { messages: begun, settings })).toHaveProperty('thinking')
    const elsewhere = [user, ...round('a', false), ...round('b', true)]
    expect(await sent('Messages', { messages: elsewhere, settings })).not.toHaveProperty('thinking')
  })

  test('a tool that Anthropic defines takes the place of ours of that name', async () => {
    const tools = [{ ...del, name: 'bash', inputSchema: {} }]
    const settings = { extra: { tools: [{ type: 'bash_20250124', name: 'bash' }] } }
    expect(await sent('Messages', { tools, settings })).toMatchObject({
      tools: [{ type: 'bash_20250124', name: 'bash' }],
    })
  })

  test('whoever sets marks for the cache sets them all', async () => {
    const search = { type: 'web_search_20250305', name: 'web_search', cache_control: { type: 'ephemeral' } }
    const tools = [{ ...del, inputSchema: {} }]
    const body = await sent('Messages', {
      messages: [{ role: 'system', content: 's' }, user],
      tools,
      settings: { extra: { tools: [search] } },
    })
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(1)
  })

  test('a conversation that the assistant opened begins with the user for Anthropic', async () => {
    const hello: Message = { role: 'assistant', content: [{ type: 'text', text: 'Hello!' }] }
    const { messages } = await sent('Messages', { messages: [hello, user] })
    expect((messages as { role: string }[]).map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })

  test('a tool of Anthropic whose result never came is left out, unless it is still to come', async () => {
    const data = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
    const search = {
      type: 'provider-tool',
      callId: 'srvtoolu_1',
      name: 'web_search',
      opaque: { provider: 'anthropic', data },
    } as const
    const cut: Message = { role: 'assistant', content: [{ type: 'text', text: 'a' }, search] }
    expect(JSON.stringify(await sent('Messages', { messages: [user, cut, user] }))).not.toContain(
      'srvtoolu_1',
    )
    const waiting: Message[] = [
      { role: 'assistant', content: [search, { type: 'tool-call', callId: 'c1', name: 'del', input: {} }] },
      { role: 'tool', callId: 'c1', name: 'del', content: [{ type: 'text', text: 'r' }] },
    ]
    expect(JSON.stringify(await sent('Messages', { messages: [user, ...waiting] }))).toContain('srvtoolu_1')
  })
})

describe('a call that was cut off', () => {
  const chunk = (finish_reason: string | null, args = '') => ({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'del', arguments: args } }] },
        finish_reason,
      },
    ],
  })
  const end = (finish_reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason }] })

  test('is not closed by a reason that is none, or that nobody knows, before its arguments came', async () => {
    for (const reason of ['null', 'pending']) {
      const { events } = await told(
        'Chat Completions',
        chunk(reason),
        chunk(null, '{"id":1}'),
        end('tool_calls'),
        '[DONE]',
      )
      expect(calls(events)).toMatchObject([{ input: { id: 1 } }])
    }
  })

  test.each(['abort', 'error', 'network_error'])('by %s is a failure', async (reason) => {
    const { events, error } = await told('Chat Completions', chunk(null), end(reason), '[DONE]')
    expect(calls(events)).toEqual([])
    expect(error).toMatchObject({ code: 'llm_error', retryable: true })
  })

  test('by a refusal is not closed', async () => {
    const { events } = await told('Chat Completions', chunk(null), end('refusal'), '[DONE]')
    expect(calls(events)).toEqual([])
  })

  const block = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 't', name: 'del', input: {} },
  }
  const closed = { type: 'content_block_stop', index: 0 }
  const over = (...reasons: (string | null)[]) => [
    ...reasons.map((stop_reason) => ({ type: 'message_delta', delta: { stop_reason } })),
    { type: 'message_stop' },
  ]

  test.each([[['refusal']], [[null, 'max_tokens']], [['model_context_window_exceeded']]])(
    'before its first character by %j is not closed on Messages',
    async (reasons) => {
      expect(calls((await told('Messages', block, closed, ...over(...reasons))).events)).toEqual([])
    },
  )

  test.each([[['tool_use']], [[null, 'tool_use']], [[]]])('is none where the end is %j', async (reasons) => {
    expect(calls((await told('Messages', block, closed, ...over(...reasons))).events)).toHaveLength(1)
  })

  test('goes on behind its end only in a stream that is not in order', async () => {
    const piece = (partial_json: string) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })
    const { error } = await told('Messages', block, piece('{"a":'), closed, piece('1}'))
    expect(error).toMatchObject({ code: 'stream_error', message: expect.stringContaining('not in order') })
  })

  test.each(['', ' ', '{}', '{"id":'])('is not closed over the AI SDK either: %j', (input) => {
    const finish = (unified: string) => ({
      type: 'finish',
      finishReason: { unified, raw: unified },
      usage: {},
    })
    const parts = (unified: string) => {
      const events: ModelEvent[] = []
      const reader = partReader(events, {
        provider: 'p',
        toolNames: new Set(['del']),
        failure: (error) => error as never,
      })
      reader.read({ type: 'tool-input-start', id: 't', toolName: 'del' })
      reader.read({ type: 'tool-call', toolCallId: 't', toolName: 'del', input })
      try {
        reader.read(finish(unified))
      } catch {
        // `interrupted` is a failure.
      }
      return calls(events)
    }
    expect(parts('length')).toEqual([])
    expect(parts('interrupted')).toEqual([])
    expect(parts('tool-calls')).toHaveLength(1)
  })

  test('is not run from a function that does not stream', async () => {
    const ran: unknown[] = []
    const model = fromGenerate(() => ({ calls: [{ name: 'del', arguments: '' }], finish: 'length' }))
    await agent({
      model,
      tools: [tool({ ...del, input: z.object({}), run: (input) => ran.push(input) })],
    }).run('x')
    expect(ran).toEqual([])
  })
})

describe('nothing is lost', () => {
  const item = (sequence_number: number | undefined, event: object) => ({
    ...event,
    ...(sequence_number !== undefined && { sequence_number }),
  })
  const ha = (content_index?: number) => ({
    type: 'response.output_text.delta',
    output_index: 0,
    content_index,
    delta: 'ha',
  })
  const completed = { type: 'response.completed', response: {} }

  test('where numbers do not count, equal deltas are all told', async () => {
    const { events } = await told('Responses', ...[1, 2, 3].map(() => item(0, ha(0))), completed)
    expect(text(events)).toBe('hahaha')
  })

  test('where they do, the same event once more is not', async () => {
    const { events } = await told('Responses', item(0, ha(0)), item(1, ha(0)), item(1, ha(0)), completed)
    expect(text(events)).toBe('haha')
  })

  test('a second part of a message, or a refusal, that is only told as a whole', async () => {
    const done = { type: 'response.output_text.done', output_index: 0, content_index: 1, text: ' ho' }
    const refusal = { type: 'response.refusal.done', output_index: 1, content_index: 0, refusal: ' No.' }
    const { events } = await told('Responses', ha(0), done, refusal, completed)
    expect(text(events)).toBe('ha ho No.')
    expect(events.at(-1)).toMatchObject({ finish: 'refusal' })
  })

  test('two calls with one output index, or none', async () => {
    const call = (id: string, status: string) => ({
      type: 'function_call',
      call_id: id,
      name: 'del',
      arguments: '{}',
      status,
    })
    const frames = ['a', 'b'].flatMap((id) => [
      { type: 'response.output_item.added', item: call(id, 'in_progress') },
      { type: 'response.output_item.done', item: call(id, 'completed') },
    ])
    expect(calls((await told('Responses', ...frames, completed)).events)).toMatchObject([
      { callId: 'a' },
      { callId: 'b' },
    ])
  })

  test('two blocks with one index, or none', async () => {
    const frames = ['a', 'b'].flatMap((id) => [
      { type: 'content_block_start', content_block: { type: 'tool_use', id, name: 'del', input: { id } } },
      { type: 'content_block_stop' },
    ])
    const { events } = await told('Messages', ...frames, { type: 'message_stop' })
    expect(calls(events)).toMatchObject([{ callId: 'a' }, { callId: 'b' }])
  })

  test.each([
    [0, undefined],
    [undefined, 0],
    [1, 1],
  ])('nor told twice where parts are numbered %s in pieces and %s as a whole', async (piece, whole) => {
    const done = { type: 'response.output_text.done', output_index: 0, content_index: whole, text: 'ha' }
    const item = { type: 'message', content: [{ type: 'output_text', text: 'ha' }] }
    const end = { type: 'response.output_item.done', output_index: 0, item }
    expect(text((await told('Responses', ha(piece), done, end, completed)).events)).toBe('ha')
  })

  test('calls without an index, the first of them without arguments', async () => {
    const call = (id: string, args: string) => ({
      type: 'function_call',
      call_id: id,
      name: 'del',
      arguments: args,
    })
    const frames = [call('a', ''), call('b', '{"x":2}')].flatMap((item) => [
      { type: 'response.output_item.added', item },
      { type: 'response.output_item.done', item },
    ])
    expect(calls((await told('Responses', ...frames, completed)).events)).toMatchObject([
      { callId: 'a', input: {} },
      { callId: 'b', input: { x: 2 } },
    ])
    const cut = {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    }
    const done = { type: 'response.function_call_arguments.done', arguments: '' }
    expect(calls((await told('Responses', frames[0], done, frames[1], cut)).events)).toEqual([])
  })

  test('a call without a name is told, so that the model can be', async () => {
    const call = { type: 'function_call', call_id: 'a', name: '', arguments: '{"a":1}', status: 'completed' }
    const { events, error } = await told(
      'Responses',
      { type: 'response.output_item.done', output_index: 0, item: call },
      completed,
    )
    expect(error).toBeUndefined()
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  })

  test('a shell that OpenAI runs is no call of ours, and what came of it is told', async () => {
    const environment = { type: 'container_reference', container_id: 'k' }
    const shell = {
      type: 'shell_call',
      id: 'sh',
      call_id: 'c',
      status: 'completed',
      action: { commands: ['ls'] },
      environment,
    }
    const output = { type: 'shell_call_output', id: 'so', call_id: 'c', output: [{ stdout: 'a' }] }
    const done = (item: object, output_index: number) => ({
      type: 'response.output_item.done',
      output_index,
      item,
    })
    const { events } = await told('Responses', done(shell, 0), done(output, 1), completed)
    expect(events.filter((event) => 'opaque' in event)).toMatchObject([
      { type: 'provider-tool', callId: 'c', name: 'shell' },
      { type: 'provider-tool', callId: 'c', name: 'shell', output: [{ stdout: 'a' }] },
    ])
    expect(calls(events)).toEqual([])
  })

  test('a reason of a strange name is just a reason', async () => {
    for (const [wire, frames] of [
      ['Chat Completions', [{ choices: [{ index: 0, delta: {}, finish_reason: 'constructor' }] }, '[DONE]']],
      [
        'Messages',
        [{ type: 'message_delta', delta: { stop_reason: 'constructor' } }, { type: 'message_stop' }],
      ],
    ] as const)
      expect((await told(wire, ...frames)).events).toMatchObject([{ type: 'done', finish: 'other' }])
  })
})

test('a frame that is no JSON is not quoted', async () => {
  for (const wire of wires) {
    const { error } = await told(wire, '{"key":Zq8xW2vLmN')
    expect(error).toMatchObject({ code: 'stream_error' })
    expect(String(error)).not.toContain('Zq8x')
  }
})

test('a connection is used again, also where the end comes a moment after the last event', async () => {
  let connections = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(
        'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      )
      setTimeout(() => response.end(), 1)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.closeAllConnections())
  onTestFinished(() => void server.close())
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const requests = 10
  for (let at = 0; at < requests; at++) {
    const ended = new Promise((resolve) =>
      server.once('request', (_, response) => response.once('close', resolve)),
    )
    expect((await agent({ model: openaiChat('m', { baseURL }) }).run('x')).text).toBe('hi')
    await ended
  }
  // Cancelled at the last event, each request would cost a connection of its own, or two.
  expect(connections).toBeLessThan(requests)
})

describe('ends', () => {
  test('nothing is sent if it was aborted while the key was fetched', async () => {
    const { fetch, requests } = recorder()
    const controller = new AbortController()
    const key = Promise.withResolvers<string>()
    const model = openaiChat('m', { fetch, apiKey: () => key.promise })
    const events = Array.fromAsync(
      model.stream({ messages: [user], tools: [], settings: {} }, { signal: controller.signal }),
    )
    controller.abort()
    key.resolve('k')
    await expect(events).rejects.toMatchObject({ code: 'stream_interrupted' })
    expect(requests).toEqual([])
  })

  test('half a frame behind the end of an answer takes nothing from it', async () => {
    const body = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] })}\n\ndata: [DO`
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const model = openaiChat('m', { fetch, apiKey })
    const { events, error } = await read(model, { messages: [user], tools: [], settings: {} })
    expect(error).toBeUndefined()
    expect(events).toMatchObject([{ text: 'hi' }, { type: 'done', finish: 'stop' }])
  })

  test.each([
    ['a long refusal', 400, 'x'.repeat(100_000)],
    ['a redirect', 302, 'x'],
  ])('the body of %s is let go', async (_, status, piece) => {
    let cancelled = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(piece)),
      cancel() {
        cancelled = true
      },
    })
    const headers = { location: 'https://elsewhere.example/' }
    const model = openaiChat('m', { fetch: async () => new Response(body, { status, headers }), apiKey })
    const { error } = await read(model, { messages: [user], tools: [], settings: {} })
    expect(error).toMatchObject({ code: 'llm_error', status })
    expect(cancelled).toBe(true)
  })

  test('a body that never ends holds nobody up', async () => {
    const event = { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] }
    const pieces = [`data: ${JSON.stringify(event)}\n\n`, 'data: [DONE]\n\n']
    let cancelled = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(pieces.shift() ?? ': ping\n\n')),
      cancel() {
        cancelled = true
      },
    })
    const headers = { 'content-type': 'text/event-stream' }
    const model = openaiChat('m', { fetch: async () => new Response(body, { headers }), apiKey })
    expect((await read(model, { messages: [user], tools: [], settings: {} })).error).toBeUndefined()
    await new Promise((resolve) => setImmediate(resolve))
    expect(cancelled).toBe(true)
  })

  test('a call that is said to be completed starts with its item, also without arguments', async () => {
    const item = { type: 'function_call', call_id: 'a', name: 'del', arguments: '', status: 'completed' }
    const { events } = await told('Responses', { type: 'response.output_item.done', output_index: 0, item })
    expect(calls(events)).toMatchObject([{ callId: 'a', input: {} }])
  })

  test('a placeholder and then another call under the same index are two calls', async () => {
    const call = (id: string, args: string) => ({
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 0, id, function: { name: 'del', arguments: args } }] } },
      ],
    })
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
    const { events } = await told('Chat Completions', call('a', '{}'), call('b', '{"id":2}'), end)
    expect(calls(events)).toMatchObject([
      { callId: 'a', input: {} },
      { callId: 'b', input: { id: 2 } },
    ])
  })

  test('the signal of a run keeps no listener of an AI SDK model', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    const stream = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} })
          controller.close()
        },
      })
    const model = fromAISDK({
      specificationVersion: 'v4',
      provider: 'p',
      modelId: 'm',
      doStream: async () => ({ stream: stream() }),
    })
    await Array.fromAsync(model.stream({ messages: [user], tools: [], settings: {} }, { signal }))
    expect(listeners).toBe(0)
  })
})

describe('around models', () => {
  test.each([
    { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'nonsense' },
    { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'nonsense' },
    { OPENAI_API_KEY: 5 as never },
  ])('detectModel never fails: %j', async (env) => {
    const { model, why } = await detectModel({ env, local: {} })
    expect(model).toBeUndefined()
    expect(why).not.toBe('')
  })

  test('an address is one, and Ollama’s port may be any', async () => {
    for (const url of ['box:11434', 'http://u:p@host', 'nowhere'])
      await expect(detectModel({ env: {}, local: { ollama: url } })).rejects.toMatchObject({
        code: 'invalid_input',
      })
    const asked: string[] = []
    const fetch = async (url: string) => {
      asked.push(url)
      return new Response('no')
    }
    for (const OLLAMA_HOST of ['box', 'box:80', 'https://box', '0.0.0.0:1'])
      await detectModel({ env: { OLLAMA_HOST }, fetch })
    expect(asked.filter((url) => !/:(1234|8080)\//.test(url))).toEqual([
      'http://box:11434/v1/models',
      'http://box/v1/models',
      'https://box/v1/models',
      'http://127.0.0.1:1/v1/models',
    ])
  })

  test('a tool of the provider stands behind the calls that came before it, over the AI SDK', () => {
    const events: ModelEvent[] = []
    const reader = partReader(events, {
      provider: 'p',
      toolNames: new Set(['del']),
      failure: (error) => error as never,
    })
    reader.read({ type: 'tool-call', toolCallId: 'a', toolName: 'del', input: '{"id":1}' })
    reader.read({
      type: 'tool-call',
      toolCallId: 'b',
      toolName: 'search',
      input: '{}',
      providerExecuted: true,
    })
    expect(events.map(({ type }) => type)).toEqual([
      'tool-input-start',
      'tool-input',
      'tool-call',
      'provider-tool',
    ])
  })

  test('a model that ends without a word is passed over in a fallback', async () => {
    const silent: Model = { ...fromGenerate(() => ''), async *stream() {} }
    const { events } = await read(fallback([silent, fromGenerate(() => 'hello')]), {
      messages: [user],
      tools: [],
      settings: {},
    })
    expect(text(events)).toBe('hello')
  })

  test('what cannot be a setting is refused by name', () => {
    expect(() => openaiChat('m', { capabilities: { image: false } as never })).toThrow(
      "did you mean 'images'?",
    )
    expect(() => openaiChat('m', { temperature: Number.NaN })).toThrow(
      "'temperature' must be a number, not NaN",
    )
    expect(() => openaiChat('m', { headers: { 'a b': 'c' } })).toThrow('no name of a header')
    expect(() => openaiChat('m', { headers: new Headers() as never })).toThrow('must be a plain object')
    expect(() => fromGenerate(() => '', null as never)).toThrow('must be an object, not null')
  })

  test('a generator is no answer', async () => {
    async function* words() {
      yield 'a'
    }
    const { error } = await read(fromGenerate(words as never), { messages: [user], tools: [], settings: {} })
    expect(error).toMatchObject({ code: 'llm_error', message: expect.stringContaining('is a stream') })
  })
})
