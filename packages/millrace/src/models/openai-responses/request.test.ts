import type { ResponseCreateParamsStreaming, ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { AssistantPart, JsonObject, Message, ModelRequest, ModelSettings } from '../../protocol/index.ts'
import {
  closedAnswer,
  conversation,
  longId,
  look,
  note,
  openAnswer,
  pdf,
  png,
  wait,
} from '../openai-chat/conversation.test-kit.ts'
import type { ResponsesExtra } from './model.ts'
import { responsesBody, responsesMessageCache } from './request.ts'

interface BodyOptions extends Partial<ModelRequest> {
  readonly canReason?: boolean
}

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }]

function bodyFor({ canReason = true, ...request }: BodyOptions) {
  const { settings = {} } = request
  return responsesBody(
    { messages: hi, tools: [], settings, ...request },
    {
      model: 'acme-1',
      settings,
      convert: responsesMessageCache({ provider: 'openai', canReason }),
      canReason,
    },
  )
}

/** The items of an assistant message and the results of its calls. */
function itemsFor(content: readonly AssistantPart[], { settings = {}, isError = false } = {}) {
  const results = content.flatMap((part): Message[] => {
    if (part.type !== 'tool-call') return []
    const { callId, name } = part
    return [
      { role: 'tool', callId, name, content: [{ type: 'text', text: 'done' }], ...(isError && { isError }) },
    ]
  })
  return bodyFor({ messages: [...hi, { role: 'assistant', content }, ...results], settings }).input
}

const call = { type: 'tool-call', callId: 'a', name: 'look', input: {} } as const
const question = { role: 'user', content: 'Hi' }

describe('a body', () => {
  test('of a conversation with every part type matches the API', () => {
    const renamed = expect.stringMatching(/^call_[a-z0-9]{9}$/) as unknown as string
    const expected: ResponseCreateParamsStreaming = {
      model: 'acme-1',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' },
            { type: 'input_image', image_url: 'https://example.com/cat.jpg', detail: 'auto' },
            { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' },
            { type: 'input_file', filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` },
            { type: 'input_file', filename: 'note.txt', file_data: `data:text/plain;base64,${note}` },
          ],
        },
        { role: 'assistant', content: 'Let me look.' },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":"cat"}' },
        { type: 'function_call', call_id: renamed, name: 'look', arguments: '{"at":"bill"}' },
        { type: 'function_call', call_id: 'call.3', name: 'look', arguments: '{}' },
        { type: 'function_call', call_id: 'd', name: 'look', arguments: '{"at":"nothing"}' },
        { type: 'function_call_output', call_id: 'a', output: 'a cat' },
        {
          type: 'function_call_output',
          call_id: renamed,
          output: [
            { type: 'input_text', text: '{"total":12.5}' },
            { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' },
          ],
        },
        { type: 'function_call_output', call_id: 'call.3', output: 'bad JSON' },
        { type: 'function_call_output', call_id: 'd', output: '' },
        { role: 'developer', content: 'The shop closes soon.' },
        { role: 'assistant', content: 'A cat and a bill.' },
        { role: 'user', content: 'Thanks.' },
      ],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [
        {
          type: 'function',
          name: 'look',
          description: 'Looks at something',
          parameters: { ...look.inputSchema },
          strict: false,
        },
        {
          type: 'function',
          name: 'wait',
          description: 'Waits',
          parameters: { type: 'object' },
          strict: false,
        },
      ],
      tool_choice: 'auto',
    }
    expect(bodyFor({ messages: conversation, tools: [look, wait], toolChoice: 'auto' })).toStrictEqual(
      expected,
    )
    expect(longId.length).toBeGreaterThan(64)
  })

  test('has every setting in its field', () => {
    const settings: ModelSettings = {
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 500,
      // Not supported by this API.
      stop: ['END'],
      seed: 7,
      reasoning: 'none',
      parallelToolCalls: false,
      extra: { reasoning: { summary: 'auto' }, text: { verbosity: 'low' }, prompt_cache_key: 'k' },
    }
    const expected: ResponseCreateParamsStreaming = {
      model: 'acme-1',
      input: [{ role: 'user', content: 'Hi' }],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [
        {
          type: 'function',
          name: 'look',
          description: 'Looks at something',
          parameters: { ...look.inputSchema },
          strict: true,
        },
      ],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
      temperature: 0.2,
      top_p: 0.9,
      max_output_tokens: 500,
      reasoning: { effort: 'none', summary: 'auto' },
      text: {
        format: { type: 'json_schema', name: 'answer', schema: { ...closedAnswer }, strict: true },
        verbosity: 'low',
      },
      prompt_cache_key: 'k',
    }
    const tools = [{ ...look, strict: true }]
    expect(bodyFor({ tools, toolChoice: { name: 'look' }, output: closedAnswer, settings })).toStrictEqual(
      expected,
    )
  })

  test('without settings has no optional fields', () => {
    expect(bodyFor({ canReason: false })).toStrictEqual({
      model: 'acme-1',
      input: [question],
      stream: true,
      store: false,
    })
  })

  test('has no tool choice without tools', () => {
    const body = bodyFor({ toolChoice: 'none', settings: { parallelToolCalls: false } })
    for (const field of ['tools', 'tool_choice', 'parallel_tool_calls'])
      expect(body).not.toHaveProperty(field)
  })

  test('has reasoning settings only for a reasoning model, and then no sampling settings', () => {
    const settings: ModelSettings = { temperature: 0.2, topP: 0.9, reasoning: 'high' }
    const thinking = bodyFor({ settings })
    expect(thinking).toMatchObject({ reasoning: { effort: 'high' } })
    expect(thinking).not.toHaveProperty('temperature')
    expect(thinking).not.toHaveProperty('top_p')
    const plain = bodyFor({ settings, canReason: false })
    expect(plain).toMatchObject({ temperature: 0.2, top_p: 0.9 })
    expect(plain).not.toHaveProperty('reasoning')
    expect(plain).not.toHaveProperty('include')
  })

  test('has the tools in their order', () => {
    const names = ['zebra', 'ant', 'mole']
    const body = bodyFor({ tools: names.map((name) => ({ ...look, name })) })
    expect(body.tools).toMatchObject(names.map((name) => ({ name })))
  })

  test('sends a strict schema only if it can be enforced', () => {
    expect(bodyFor({ output: openAnswer }).text).toEqual({
      format: { type: 'json_schema', name: 'answer', schema: openAnswer, strict: false },
    })
  })

  test('is overridden by extra, and extra tools come after ours', () => {
    const search = { type: 'web_search' }
    const body = bodyFor({
      tools: [look],
      settings: { reasoning: 'low', extra: { reasoning: { effort: 'xhigh' }, tools: [search] } },
    })
    expect(body).toMatchObject({ reasoning: { effort: 'xhigh' } })
    expect(body.tools).toEqual([expect.objectContaining({ name: 'look' }), search])
  })

  test("the types of extra match OpenAI's", () => {
    type Mutable<Value> = Value extends object
      ? { -readonly [Key in keyof Value]: Mutable<Value[Key]> }
      : Value
    type Known = {
      [Key in keyof ResponsesExtra as string extends Key ? never : Key]: Mutable<ResponsesExtra[Key]>
    }
    expectTypeOf<Omit<Known, 'tools'>>().toExtend<Partial<ResponseCreateParamsStreaming>>()
    expectTypeOf<keyof Known>().toExtend<keyof ResponseCreateParamsStreaming>()
  })
})

describe("tools that are declared in the provider's format", () => {
  const choosing = (name: string, declared: JsonObject) =>
    bodyFor({
      tools: [look, { ...look, name }],
      toolChoice: { name },
      settings: { extra: { tools: [declared] } },
    })

  test.each([
    ['shell', { type: 'local_shell' }],
    ['shell', { type: 'shell', environment: { type: 'local' } }],
    ['mcp_approval', { type: 'mcp', server_label: 'crm', server_url: 'https://example.com/mcp' }],
  ])('are not declared twice: %s as %j', (name, declared) => {
    const tools = [look, { ...look, name }]
    const body = bodyFor({ tools, settings: { extra: { tools: [declared] } } })
    expect(body.tools).toEqual([expect.objectContaining({ name: 'look' }), declared])
  })

  test("are chosen in the provider's format too", () => {
    const expected: ResponseCreateParamsStreaming['tool_choice'][] = [
      { type: 'custom', name: 'sql' },
      { type: 'shell' },
      { type: 'shell' },
      { type: 'apply_patch' },
      'required',
      { type: 'mcp', server_label: 'crm' },
    ]
    expect([
      choosing('sql', { type: 'custom', name: 'sql' }).tool_choice,
      choosing('shell', { type: 'shell' }).tool_choice,
      choosing('shell', { type: 'shell', environment: { type: 'local' } }).tool_choice,
      choosing('apply_patch', { type: 'apply_patch' }).tool_choice,
      choosing('shell', { type: 'local_shell' }).tool_choice,
      choosing('mcp_approval', { type: 'mcp', server_label: 'crm' }).tool_choice,
    ]).toEqual(expected)
  })
})

describe('data of this provider is sent back unchanged', () => {
  const from = (provider: string, data: JsonObject) => ({ opaque: { provider, data } })
  const custom = {
    id: 'ctc_1',
    type: 'custom_tool_call',
    call_id: 'a',
    name: 'sql',
    input: 'select 1',
  } as const
  const localShell = {
    id: 'lsh_1',
    type: 'local_shell_call',
    call_id: 'a',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  } as const
  const shell = {
    id: 'sh_1',
    type: 'shell_call',
    call_id: 'a',
    status: 'completed',
    action: { commands: ['ls'] },
  } as const
  const patch = {
    id: 'apc_1',
    type: 'apply_patch_call',
    call_id: 'a',
    status: 'completed',
    operation: { type: 'delete_file', path: 'a.txt' },
  } as const
  const approval = {
    id: 'mcpr_1',
    type: 'mcp_approval_request',
    server_label: 'crm',
    name: 'find',
    arguments: '{}',
  } as const
  const made = (data: JsonObject, isError = false) =>
    itemsFor([{ ...call, ...from('openai', data) }], { isError })

  test('a custom call, with its output', () => {
    const expected: ResponseInputItem[] = [
      { role: 'user', content: 'Hi' },
      custom,
      { type: 'custom_tool_call_output', call_id: 'a', output: 'done' },
    ]
    expect(made(custom)).toStrictEqual(expected)
  })

  test('a local shell call, with its output', () => {
    const output = { type: 'local_shell_call_output', call_id: 'a', output: 'done' }
    expect(made(localShell)).toStrictEqual([question, localShell, output])
    const { action, ...rest } = localShell
    expectTypeOf<typeof rest>().toExtend<Omit<ResponseInputItem.LocalShellCall, 'action'>>()
  })

  test('a shell call, with its output', () => {
    const expected = (stdout: string, stderr: string, exit_code: number): ResponseInputItem[] => [
      { role: 'user', content: 'Hi' },
      { ...shell, action: { commands: ['ls'] } },
      {
        type: 'shell_call_output',
        call_id: 'a',
        output: [{ stdout, stderr, outcome: { type: 'exit', exit_code } }],
      },
    ]
    expect(made(shell)).toStrictEqual(expected('done', '', 0))
    expect(made(shell, true)).toStrictEqual(expected('', 'done', 1))
  })

  test('a patch, with its output', () => {
    const expected = (status: 'completed' | 'failed'): ResponseInputItem[] => [
      { role: 'user', content: 'Hi' },
      patch,
      { type: 'apply_patch_call_output', call_id: 'a', status, output: 'done' },
    ]
    expect(made(patch)).toStrictEqual(expected('completed'))
    expect(made(patch, true)).toStrictEqual(expected('failed'))
  })

  test('an approval request, with the response, and without an id that does not exist', () => {
    const expected: ResponseInputItem[] = [
      { role: 'user', content: 'Hi' },
      approval,
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    ]
    expect(made(approval)).toStrictEqual(expected)
  })

  test('for another provider they are all plain calls', () => {
    for (const data of [custom, localShell, shell, patch, approval])
      expect(itemsFor([{ ...call, ...from('azure', data) }])).toEqual([
        question,
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'done' },
      ])
  })

  test('a namespace with its call, a phase with its text', () => {
    const words = { type: 'text', text: 'Look.', ...from('openai', { phase: 'commentary' }) } as const
    const expected: ResponseInputItem[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Look.', phase: 'commentary' },
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}', namespace: 'crm' },
      { type: 'function_call_output', call_id: 'a', output: 'done' },
    ]
    expect(itemsFor([words, { ...call, ...from('openai', { namespace: 'crm' }) }])).toStrictEqual(expected)
  })

  test('a provider-run tool, and only to that provider', () => {
    const data = {
      id: 'ws_1',
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'x' },
    }
    const ran = (provider: string) =>
      itemsFor([{ type: 'provider-tool', callId: 'ws_1', name: 'web_search', ...from(provider, data) }])
    expect(ran('openai')).toEqual([question, data])
    expect(ran('other')).toEqual([question])
  })

  test('an id that is too long is renamed in special calls too', () => {
    const items = itemsFor([{ ...call, callId: longId, ...from('openai', { ...custom, call_id: longId }) }])
    const renamed = expect.stringMatching(/^call_[a-z0-9]{9}$/)
    expect(items).toMatchObject([question, { ...custom, call_id: renamed }, { call_id: renamed }])
  })
})

describe('reasoning', () => {
  const secret = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' } as const
  const bare = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] } as const
  const open = { ...bare, content: [{ type: 'reasoning_text', text: 'Hm.' }] } as const
  const words = { type: 'text', text: 'Yes.' } as const
  const sent = (data: JsonObject, { provider = 'openai', store = false } = {}) =>
    itemsFor([{ type: 'reasoning', text: 'Hm.', opaque: { provider, data } }, words], {
      settings: store ? { extra: { store } } : {},
    })
  const said = { role: 'assistant', content: 'Yes.' }

  test('is sent back encrypted or as full text', () => {
    const items: ResponseInputItem[] = [{ ...secret, summary: [] }]
    expect(sent(secret)).toStrictEqual([question, ...items, said])
    expect(sent(open)).toEqual([question, open, said])
  })

  test('is sent back by id alone only if the provider stores it', () => {
    expect(sent(bare)).toEqual([question, said])
    expect(sent(bare, { store: true })).toEqual([question, bare, said])
    expect(bodyFor({ settings: { extra: { store: true } } })).toMatchObject({ store: true })
    expect(bodyFor({ settings: { extra: { store: true } } })).not.toHaveProperty('include')
  })

  test('is not sent to another provider', () => {
    expect(sent(secret, { provider: 'anthropic' })).toEqual([question, said])
  })

  test('is not sent back if nothing follows it', () => {
    const thought = { type: 'reasoning', text: '', opaque: { provider: 'openai', data: secret } } as const
    expect(itemsFor([thought])).toEqual([question])
    expect(itemsFor([words, thought])).toEqual([question, said])
    expect(itemsFor([thought, call])).toMatchObject([question, secret, {}, {}])
  })
})

test('files are sent by URL or with their data', () => {
  const sent = (file: object) =>
    bodyFor({ messages: [{ role: 'user', content: [{ type: 'file', ...file } as never] }] }).input
  expect(sent({ mediaType: 'application/pdf', url: 'https://example.com/a.pdf' })).toEqual([
    { role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }] },
  ])
  expect(sent({ mediaType: 'image/png', data: png })).toMatchObject([{ content: [{ type: 'input_image' }] }])
  expect(sent({ mediaType: 'application/pdf', data: pdf })).toMatchObject([
    { content: [{ filename: 'file' }] },
  ])
})

test('audio and video are rejected', () => {
  const sound = { type: 'file', mediaType: 'audio/wav', data: 'AAAA' } as const
  expect(() => bodyFor({ messages: [{ role: 'user', content: [sound] }] })).toThrow(
    'openai does not support files of type audio/wav over Responses: use openaiChat()',
  )
})

test('OpenAI data from Chat Completions is left out', () => {
  const from = (data: JsonObject) => ({ opaque: { provider: 'openai', data } })
  const items = itemsFor(
    [
      { type: 'reasoning', text: 'Hm.', ...from({ field: 'reasoning_content' }) },
      { ...call, ...from({ extra_content: { google: {} } }) },
    ],
    { settings: { extra: { store: true } } },
  )
  expect(items).toEqual([
    question,
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: 'done' },
  ])
})

test('a message without text is left out', () => {
  expect(itemsFor([{ type: 'text', text: '' }])).toEqual([question])
})
