import { describe, expect, test } from 'vitest'
import { readResponseRequest } from './response-request.ts'

const read = (input: unknown, more: object = {}) => readResponseRequest({ model: 'miller', input, ...more })

describe('input', () => {
  test('can be text', () => {
    expect(read('Hi.').messages).toEqual([{ role: 'user', content: 'Hi.' }])
  })

  test('can be messages with text, images and files', () => {
    const { messages } = read([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look.' },
          { type: 'input_image', image_url: 'https://a.b/c.png' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,BBBB' },
          { type: 'input_file', file_url: 'https://a.b/c.pdf' },
        ],
      },
    ])
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image', url: 'https://a.b/c.png' },
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          { type: 'file', mediaType: 'text/plain', data: 'BBBB', name: 'a.txt' },
          { type: 'file', mediaType: 'application/pdf', url: 'https://a.b/c.pdf' },
        ],
      },
    ])
  })

  test('has one message of the assistant for consecutive items, whatever is between them', () => {
    const { messages } = read([
      { role: 'user', content: 'Work.' },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'mcp_call', id: 'mcp_1', name: 'look', arguments: '{}', output: 'x', server_label: 'millrace' },
      { type: 'function_call', call_id: 'a', name: 'pick', arguments: '{"of":"sky"}' },
      { type: 'function_call', call_id: 'b', name: 'pick', arguments: '{"of' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
      {
        type: 'function_call_output',
        call_id: 'b',
        output: [
          { type: 'input_text', text: 'red' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { type: 'item_reference', id: 'msg_1' },
      { role: 'user', content: 'And?' },
    ])
    expect(messages).toEqual([
      { role: 'user', content: 'Work.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', callId: 'a', name: 'pick', input: { of: 'sky' } },
          { type: 'tool-call', callId: 'b', name: 'pick', input: {}, raw: '{"of' },
        ],
      },
      { role: 'tool', callId: 'a', name: 'pick', content: [{ type: 'text', text: 'blue' }] },
      {
        role: 'tool',
        callId: 'b',
        name: 'pick',
        content: [
          { type: 'text', text: 'red' },
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
      { role: 'user', content: 'And?' },
    ])
  })

  test('has decisions about calls, and developer messages', () => {
    const { messages, decisions, approvalIds, developer } = read([
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      {
        type: 'mcp_approval_request',
        id: 'mcpr_t:1:a',
        name: 'cut',
        arguments: '{}',
        server_label: 'millrace',
      },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_t:1:a', approve: true },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_t:1:b/c', approve: false, reason: 'no' },
    ])
    expect(messages).toEqual([])
    expect(developer).toBe('Be brief.\n\nBe kind.')
    expect([...decisions]).toEqual([
      ['a', { approved: true }],
      ['b/c', { approved: false, reason: 'no' }],
    ])
    expect(approvalIds).toEqual(['mcpr_t:1:a', 'mcpr_t:1:b/c'])
  })

  test('has only the decisions since the last message of the assistant, and what came with them', () => {
    const decision = (callId: string) => ({
      type: 'mcp_approval_response',
      approval_request_id: `mcpr_t:1:${callId}`,
      approve: true,
    })
    const history = [
      { role: 'user', content: 'Cut it.' },
      decision('a'),
      { role: 'assistant', content: 'It is cut.' },
      { role: 'user', content: 'Again.' },
    ]
    expect([...read(history).decisions]).toEqual([])
    const { decisions, newMessages } = read([
      ...history,
      { type: 'function_call', call_id: 'b', name: 'pick', arguments: '{}' },
      { type: 'function_call_output', call_id: 'b', output: 'red' },
      decision('c'),
      { role: 'user', content: 'Carefully.' },
    ])
    expect([...decisions.keys()]).toEqual(['c'])
    expect(newMessages).toMatchObject([
      { role: 'tool', callId: 'b' },
      { role: 'user', content: 'Carefully.' },
    ])
  })
})

test('settings, tools and the format are read, and tools of other types are ignored', () => {
  const schema = { type: 'object', properties: {} }
  const { request, format } = read('Hi.', {
    temperature: 0.1,
    top_p: 0.2,
    max_output_tokens: 9,
    parallel_tool_calls: false,
    reasoning: { effort: 'xhigh' },
    tools: [
      { type: 'function', name: 'pick', description: 'Picks', parameters: schema, strict: true },
      { type: 'web_search' },
      { type: 'namespace', name: 'mcp', tools: [] },
      { type: 'custom', name: 'apply_patch' },
    ],
    tool_choice: { type: 'function', name: 'pick' },
    text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
  })
  expect(request).toEqual({
    settings: {
      temperature: 0.1,
      topP: 0.2,
      maxOutputTokens: 9,
      parallelToolCalls: false,
      reasoning: 'high',
    },
    tools: [{ name: 'pick', description: 'Picks', inputSchema: schema, strict: true }],
    toolChoice: { name: 'pick' },
    output: schema,
  })
  expect(format).toEqual({ type: 'json_schema', name: 'answer', description: null, strict: true })
})

test('only allowed tools are offered', () => {
  const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } })
  const { request } = read('Hi.', {
    tools: [tool('a'), tool('b')],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] },
  })
  expect(request.toolChoice).toBe('required')
  expect(request.tools?.map(({ name }) => name)).toEqual(['b'])
})

test.each([
  [{ input: undefined }, 'input'],
  [{ input: ['Hi.'] }, 'input[0]'],
  [{ input: [{ role: 'critic', content: 'Hi.' }] }, 'input[0].role'],
  [{ input: [{ role: 'user', content: 7 }] }, 'input[0].content'],
  [{ input: [{ role: 'user', content: [{ type: 'input_audio', data: '' }] }] }, 'input[0].content[0]'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'x' }] }] },
    'input[0].content[0].image_url',
  ],
  [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'x' }] }] }, 'input[0].content[0]'],
  [{ input: [{ type: 'function_call', name: 'a' }] }, 'input[0].call_id'],
  [{ input: [{ type: 'function_call_output', call_id: 'a' }] }, 'input[0].output'],
  [{ input: [{ type: 'mcp_approval_response', approval_request_id: 'a' }] }, 'input[0].approve'],
  [{ instructions: 7 }, 'instructions'],
  [{ temperature: 'hot' }, 'temperature'],
  [{ tools: {} }, 'tools'],
  [{ tools: [{ type: 'function', name: '' }] }, 'tools[0].name'],
  [{ tool_choice: 'sometimes' }, 'tool_choice'],
  [{ text: { format: { type: 'yaml' } } }, 'text.format'],
  [{ metadata: { a: 1 } }, 'metadata'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
  [{ conversation: 7 }, 'conversation'],
])('%j is rejected with the name of the field', (fields, param) => {
  expect(() => readResponseRequest({ model: 'miller', input: 'Hi.', ...fields })).toThrow(
    expect.objectContaining({ status: 400, cause: { param } }),
  )
})
