import { expect, test } from 'vitest'
import { withStatus } from '../http-error.ts'
import { readChatRequest } from './chat-request.ts'

const user = { role: 'user', content: 'Hi' }

const read = (more: object = {}, messages: readonly unknown[] = [user]) =>
  readChatRequest({ model: 'miller', messages, ...more })

/** The field that a rejected request names. */
function paramOf(body: unknown): string | undefined {
  try {
    readChatRequest(body)
  } catch (error) {
    const { status, param } = withStatus(error, { code: 'invalid_input', message: '' })
    expect(status).toBe(400)
    return param ?? ''
  }
  return undefined
}

test('a conversation with tools is read, and its system messages become one text', () => {
  const { messages, request } = read({}, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }], name: 'ann' },
    {
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } },
        { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_2', content: 'noon' },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '2' }] },
    { role: 'developer', content: [{ type: 'text', text: 'In French.' }] },
  ])
  expect(request).toEqual({ system: 'Be brief.\n\nIn French.' })
  expect(messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', callId: 'call_1', name: 'add', input: { a: 1 } },
        { type: 'tool-call', callId: 'call_2', name: 'now', input: {} },
      ],
    },
    { role: 'tool', callId: 'call_2', name: 'now', content: [{ type: 'text', text: 'noon' }] },
    { role: 'tool', callId: 'call_1', name: 'add', content: [{ type: 'text', text: '2' }] },
  ])
})

test('text, refusals and invalid arguments of the assistant are kept, its reasoning is not', () => {
  const { messages } = read({}, [
    user,
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'A' },
        { type: 'refusal', refusal: 'B' },
      ],
    },
    user,
    { role: 'assistant', content: null, refusal: 'No.', reasoning_content: 'Hm.' },
    user,
    { role: 'assistant', content: '' },
    user,
    {
      role: 'assistant',
      content: 'C',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":' } }],
    },
    user,
  ])
  expect(messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)).toEqual([
    [{ type: 'text', text: 'AB' }],
    [{ type: 'text', text: 'No.' }],
    [
      { type: 'text', text: 'C' },
      { type: 'tool-call', callId: 'call_1', name: 'add', input: {}, raw: '{"a":' },
    ],
  ])
})

test('images and files are read as links and as data', () => {
  const { messages } = read({}, [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'https://example.com/mill.png', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAEC' } },
        { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,AAEC' } },
        { type: 'file', file: { file_data: 'JVBERi0=' } },
      ],
    },
  ])
  expect(messages[0]?.content).toEqual([
    { type: 'image', url: 'https://example.com/mill.png' },
    { type: 'image', mediaType: 'image/png', data: 'AAEC' },
    { type: 'file', name: 'a.txt', mediaType: 'text/plain', data: 'AAEC' },
    { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=' },
  ])
})

const tools = [
  {
    type: 'function',
    function: { name: 'add', description: 'Adds', parameters: { type: 'object' }, strict: true },
  },
  { type: 'function', function: { name: 'now' } },
  { type: 'custom', custom: { name: 'grammar' } },
]
const add = { name: 'add', description: 'Adds', inputSchema: { type: 'object' }, strict: true }
const now = { name: 'now', description: 'now', inputSchema: { type: 'object', properties: {} } }

test('functions are read as tools, and tools of other types are ignored', () => {
  expect(read({ tools }).request).toEqual({ tools: [add, now] })
})

test.each([
  ['auto', { tools: [add, now], toolChoice: 'auto' }],
  ['none', { tools: [add, now], toolChoice: 'none' }],
  ['required', { tools: [add, now], toolChoice: 'required' }],
  [
    { type: 'function', function: { name: 'now' } },
    { tools: [add, now], toolChoice: { name: 'now' } },
  ],
  [
    { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tools[1]] } },
    { tools: [now], toolChoice: 'required' },
  ],
])('the tool choice %j is read', (tool_choice, expected) => {
  expect(read({ tools, tool_choice }).request).toEqual(expected)
})

test('settings are read, and null counts as absent', () => {
  const settings = { temperature: 0.5, top_p: 0.9, seed: 7, parallel_tool_calls: false, stop: 'END' }
  expect(read({ ...settings, max_tokens: 5, reasoning_effort: 'low' }).request.settings).toEqual({
    temperature: 0.5,
    topP: 0.9,
    seed: 7,
    parallelToolCalls: false,
    stop: ['END'],
    maxOutputTokens: 5,
    reasoning: 'low',
  })
  expect(read({ max_completion_tokens: 6, max_tokens: 5, stop: ['a', 'b'] }).request.settings).toEqual({
    maxOutputTokens: 6,
    stop: ['a', 'b'],
  })
  const nothing = { temperature: null, top_p: null, seed: null, stop: null, reasoning_effort: null, n: null }
  expect(read({ ...nothing, tools: null, tool_choice: null, response_format: null }).request).toEqual({})
})

test.each(['xhigh', 'max', 'high'])('the reasoning effort %s is the highest', (reasoning_effort) => {
  expect(read({ reasoning_effort }).request.settings).toEqual({ reasoning: 'high' })
})

test('the format of the answer is its schema', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
  expect(read({ response_format: format }).request).toEqual({ output: schema })
  expect(read({ response_format: { type: 'json_object' } }).request).toEqual({ output: { type: 'object' } })
  expect(read({ response_format: { type: 'text' } }).request).toEqual({})
})

test('unknown fields are accepted', () => {
  const more = { store: true, user: 'ann', logit_bias: {}, service_tier: 'flex', n: 1, logprobs: false }
  expect(read({ ...more, modalities: ['text'], made_up: {} })).toMatchObject({
    isStream: false,
    withUsage: false,
    request: {},
  })
  expect(read({ stream: true, stream_options: { include_usage: true } })).toMatchObject({
    isStream: true,
    withUsage: true,
  })
})

const asked = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const called = (call: unknown) => ({ messages: [user, { role: 'assistant', tool_calls: [call] }, user] })

test.each<[param: string, body: unknown]>([
  ['', 'text'],
  ['', undefined],
  ['messages', {}],
  ['messages', { messages: [] }],
  ['messages', { messages: [{ role: 'system', content: 'Be brief.' }] }],
  ['messages', { messages: [user, { role: 'assistant', content: 'A prefix' }] }],
  ['messages[1]', { messages: [user, 'Hi'] }],
  ['messages[0].role', { messages: [{ role: 'function', name: 'add', content: '2' }] }],
  ['messages[0].content', asked(undefined)],
  ['messages[0].content[0]', asked(['Hi'])],
  ['messages[0].content[0]', asked([{ type: 'text' }])],
  ['messages[0].content[0].type', asked([{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }])],
  ['messages[0].content[0].image_url', asked([{ type: 'image_url', image_url: 'https://example.com' }])],
  ['messages[0].content[0].file', asked([{ type: 'file', file: { file_id: 'file-1' } }])],
  ['messages[1].tool_calls[0]', called({ id: 'call_1', type: 'custom', custom: { name: 'a', input: '' } })],
  ['messages[1].tool_calls', { messages: [user, { role: 'assistant', tool_calls: {} }, user] }],
  [
    'messages[1].function_call',
    { messages: [user, { role: 'assistant', function_call: { name: 'a' } }, user] },
  ],
  ['messages[1].tool_call_id', { messages: [user, { role: 'tool', tool_call_id: 'call_9', content: '2' }] }],
  ['messages[0].content[0]', { messages: [{ role: 'system', content: [{ type: 'image_url' }] }, user] }],
  ['n', { messages: [user], n: 2 }],
  ['logprobs', { messages: [user], logprobs: true }],
  ['modalities', { messages: [user], modalities: ['text', 'audio'] }],
  ['functions', { messages: [user], functions: [] }],
  ['function_call', { messages: [user], function_call: 'auto' }],
  ['tools', { messages: [user], tools: {} }],
  ['tools[0].function.name', { messages: [user], tools: [{ type: 'function', function: { name: 'a b' } }] }],
  [
    'tools[0].function.parameters',
    { messages: [user], tools: [{ type: 'function', function: { name: 'a', parameters: [] } }] },
  ],
  ['tool_choice', { messages: [user], tool_choice: 'any' }],
  ['tool_choice', { messages: [user], tool_choice: { type: 'function', function: {} } }],
  ['response_format', { messages: [user], response_format: { type: 'json_schema' } }],
  ['temperature', { messages: [user], temperature: 'hot' }],
  ['stop', { messages: [user], stop: [1] }],
])('a request is rejected with the name of the wrong field: %s', (param, body) => {
  expect(paramOf(body)).toBe(param)
})
