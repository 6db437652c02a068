import { describe, expect, test } from 'vitest'
import type { JsonObject, Message } from '../../protocol/index.ts'
import { foldMessage } from '../../protocol/index.ts'
import { sentBody, user } from '../wires.test-kit.ts'
import { responsesBody, responsesMessageCache } from './request.ts'
import {
  completed,
  created,
  functionCall,
  itemAdded,
  itemDone,
  itemEvent,
  message,
  outputText,
  readFrames,
} from './responses.test-kit.ts'

/** The items of an answer in the next request, and those of its call results. */
function nextItems(frames: readonly unknown[], result: unknown = 'ok') {
  const { events, calls, error } = readFrames(frames)
  expect(error).toBeUndefined()
  const answer = foldMessage(events)
  const content =
    typeof result === 'string'
      ? { type: 'text', text: result }
      : { type: 'json', value: result as JsonObject }
  const results = calls.map(
    ({ callId, name }): Message => ({ role: 'tool', callId, name, content: [content as never] }),
  )
  const messages: Message[] = [{ role: 'user', content: 'Hi' }, ...(answer ? [answer] : []), ...results]
  const body = responsesBody(
    { messages, tools: [], settings: {} },
    {
      model: 'acme-1',
      settings: {},
      convert: responsesMessageCache({ provider: 'acme', canReason: true }),
      canReason: true,
    },
  )
  return (body.input as JsonObject[]).slice(1)
}

const done = (...items: readonly object[]) => items.map((item, index) => itemDone(index, item))

describe('items are sent back unchanged', () => {
  const search = {
    id: 'tsc_1',
    type: 'tool_search_call',
    execution: 'server',
    call_id: null,
    status: 'completed',
    arguments: { q: 1 },
  }
  const found = {
    id: 'tso_1',
    type: 'tool_search_output',
    execution: 'server',
    call_id: null,
    tools: [{ a: 1 }],
  }
  const program = { id: 'cm_1', type: 'program', call_id: 'c1', code: 'look()', fingerprint: 'f' }
  const output = { id: 'co_1', type: 'program_output', call_id: 'c1', result: '1', status: 'completed' }
  const compaction = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA' }
  const moon = { type: 'moon_phase', phase: { of: 3 } }

  test.each([
    ['a tool search and its output', [search, found]],
    ['a program and its output', [program, output]],
    ['a compaction', [compaction]],
    ['an unknown type', [moon]],
  ])('%s', (_, items) => {
    const frames = [...done(...items), itemDone(items.length, message([outputText('Yes.')])), completed()]
    expect(nextItems(frames)).toEqual([...items, { role: 'assistant', content: 'Yes.' }])
  })

  test('a call made by a program has its caller, and so has its result', () => {
    const caller = { type: 'program', caller_id: 'c1' }
    const call = functionCall('{"city":"Rome"}', { caller, namespace: 'crm' })
    expect(nextItems([...done(program, call), completed()])).toEqual([
      program,
      {
        type: 'function_call',
        call_id: 'a',
        name: 'weather',
        arguments: '{"city":"Rome"}',
        caller,
        namespace: 'crm',
      },
      { type: 'function_call_output', call_id: 'a', output: 'ok', caller },
    ])
  })

  test('an item without output_item.done is taken from the final response', () => {
    const tools = { id: 'mcpl_1', type: 'mcp_list_tools', server_label: 'crm', tools: [{ name: 'echo' }] }
    const output = [tools, message([outputText('Yes.')])]
    const frames = [
      created,
      itemAdded(0, { ...tools, tools: [] }),
      ...[itemAdded(1, message()), itemDone(1, message([outputText('Yes.')]))],
      completed({ output }),
    ]
    expect(nextItems(frames)).toEqual([{ role: 'assistant', content: 'Yes.' }, tools])
  })

  test('an item that was never streamed is taken from the final response', () => {
    const frames = [
      created,
      itemAdded(1, message()),
      itemDone(1, message([outputText('Yes.')])),
      completed({ output: [compaction, message([outputText('Yes.')])] }),
    ]
    expect(nextItems(frames)).toEqual([{ role: 'assistant', content: 'Yes.' }, compaction])
    // If the indexes do not match, it is unknown which item it is.
    const shifted = [
      ...frames.slice(0, 3),
      completed({ output: [message([outputText('Yes.')]), compaction] }),
    ]
    expect(nextItems(shifted)).toEqual([{ role: 'assistant', content: 'Yes.' }])
  })
})

describe("calls to xAI's own tools", () => {
  const started = (id: string, name: string) => ({
    id: `ctc_${id}`,
    type: 'custom_tool_call',
    call_id: id,
    name,
    input: '',
    status: 'in_progress',
  })
  const ran = (id: string, name: string, input: string) => ({
    ...started(id, name),
    input,
    status: 'completed',
  })
  const query = '{"query":"from:xai"}'
  const frames = [
    created,
    itemAdded(0, started('xs_1', 'x_keyword_search')),
    itemEvent(0, 'custom_tool_call_input.delta', { delta: query }),
    itemAdded(1, started('xs_2', 'view_x_video')),
    itemEvent(1, 'custom_tool_call_input.delta', { delta: '{}' }),
    itemDone(1, ran('xs_2', 'view_x_video', '{}')),
    itemDone(0, ran('xs_1', 'x_keyword_search', query)),
    itemDone(2, message([outputText('Found.')])),
    completed(),
  ]

  test('are emitted and do not run', () => {
    const { calls, finish, events } = readFrames(frames)
    expect({ calls, finish }).toEqual({ calls: [], finish: 'stop' })
    expect(events.filter(({ type }) => type === 'provider-tool')).toMatchObject([
      { callId: 'xs_1', name: 'x_keyword_search' },
      { callId: 'xs_2', name: 'view_x_video' },
      { callId: 'xs_2', name: 'view_x_video', input: {} },
      { callId: 'xs_1', name: 'x_keyword_search', input: { query: 'from:xai' } },
    ])
  })

  test('are sent back unchanged', () => {
    expect(nextItems(frames).slice(0, 2)).toEqual([
      ran('xs_2', 'view_x_video', '{}'),
      ran('xs_1', 'x_keyword_search', query),
    ])
  })

  test('an empty call_id is replaced by the id of the item', () => {
    const search = {
      id: 'ws_1',
      call_id: '',
      type: 'web_search_call',
      status: 'completed',
      action: { query: 'a' },
    }
    const { events } = readFrames([
      itemDone(0, search),
      itemDone(1, message([outputText('Found.')])),
      completed(),
    ])
    expect(events[0]).toMatchObject({ type: 'provider-tool', callId: 'ws_1' })
  })
})

describe('a tool search', () => {
  const searched = (call_id: string, more: object = {}) => ({
    id: 'tsc_1',
    type: 'tool_search_call',
    status: 'completed',
    arguments: { goal: 'weather' },
    call_id,
    ...more,
  })

  test('whose call_id changes is one search, with its output', () => {
    const { events } = readFrames([
      itemAdded(0, searched('call_1', { execution: 'server', status: 'in_progress', arguments: {} })),
      itemDone(0, searched('call_2', { execution: 'server' })),
      itemDone(1, { id: 'tso_1', type: 'tool_search_output', call_id: 'call_2', tools: [] }),
      itemDone(2, message([outputText('Found.')])),
      completed(),
    ])
    const ids = events.flatMap((event) => (event.type === 'provider-tool' ? [event.callId] : []))
    expect(new Set(ids)).toEqual(new Set(['call_1']))
  })

  test('with execution client is a call to tool_search, and its result lists the tools', () => {
    const item = searched('call_2', { execution: 'client' })
    const started = itemAdded(0, {
      ...searched('call_1', { execution: 'client' }),
      arguments: {},
      status: 'in_progress',
    })
    const tools = [{ type: 'function', name: 'get_weather', parameters: {} }]
    const frames = [started, itemDone(0, item), completed({ output: [item] })]
    expect(readFrames(frames).calls).toEqual([
      { callId: 'call_1', name: 'tool_search', input: { goal: 'weather' } },
    ])
    const result = {
      type: 'tool_search_output',
      call_id: 'call_1',
      execution: 'client',
      status: 'completed',
    }
    const sent = { ...item, call_id: 'call_1' }
    expect(nextItems(frames, { tools })).toEqual([sent, { ...result, tools }])
    expect(nextItems(frames, 'nothing')).toEqual([sent, { ...result, tools: [] }])
  })
})

describe('an answer that restarts', () => {
  const call = (id: string, name: string, args: string, more: object = {}) => ({
    id: `fc_${id}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: args,
    ...more,
  })
  const path = '{"path":"report.txt"}'
  const cut = [created, itemAdded(0, call('a', 'delete_file', '', { status: 'in_progress' }))]
  const second = [
    itemAdded(0, call('b', 'read_file', '', { status: 'in_progress' })),
    itemEvent(0, 'function_call_arguments.delta', { item_id: 'fc_b', delta: path }),
    itemEvent(0, 'function_call_arguments.done', { item_id: 'fc_b', arguments: path }),
    itemDone(0, call('b', 'read_file', path)),
    completed({ id: 'resp_2', output: [call('b', 'read_file', path)] }),
  ]
  const again = { ...created, response: { ...created.response, id: 'resp_2' }, sequence_number: 0 }
  const read = { callId: 'b', name: 'read_file', input: { path: 'report.txt' } }

  test.each([
    ['with an item at the same index', [...cut, ...second]],
    ['with another response', [...cut, again, ...second]],
    [
      'with an item at the same index, after empty arguments',
      [...cut, itemEvent(0, 'function_call_arguments.done', { item_id: 'fc_a', arguments: '' }), ...second],
    ],
    ['with another response at once', [created, again, ...second]],
  ])('%s keeps only what comes after', (_, frames) => {
    const { calls, events, error } = readFrames(frames)
    expect(error).toBeUndefined()
    expect(calls).toEqual([read])
    expect(foldMessage(events)?.content).toMatchObject([{ type: 'tool-call', name: 'read_file' }])
  })

  test.each([
    [
      'the end of a call to another tool',
      [...cut, itemDone(0, call('b', 'read_file', path))],
      "the end of a call to 'read_file' for a call to 'delete_file'",
    ],
    [
      'the end of an item of another type',
      [...cut, itemDone(0, message([outputText('Hi')]))],
      'the end of a message',
    ],
    [
      'arguments with the id of another item, and none at the end',
      [
        ...cut,
        itemEvent(0, 'function_call_arguments.delta', { item_id: 'fc_b', delta: path }),
        itemDone(0, call('a', 'delete_file', '')),
      ],
      'with arguments from several items',
    ],
    [
      'a call that is not in the final response',
      [
        ...[created, itemDone(0, call('a', 'delete_file', '{"path":"a"}'))],
        completed({ output: [call('b', 'read_file', path)] }),
      ],
      "a call to 'delete_file' that is not in its response",
    ],
  ])('%s is an error', (_, frames, said) => {
    expect(readFrames(frames).error).toMatchObject({
      code: 'stream_error',
      retryable: true,
      message: expect.stringContaining(said),
    })
  })

  test('the end of arguments with another id closes nothing', () => {
    const foreign = itemEvent(0, 'function_call_arguments.done', { item_id: 'fc_b', arguments: path })
    expect(readFrames([...cut, foreign]).calls).toEqual([])
    // The item itself shows whose they are, even if ids change mid-stream.
    const end = itemDone(0, call('a', 'delete_file', path, { id: 'fc_c' }))
    expect(readFrames([...cut, foreign, end, completed()]).calls).toEqual([
      { callId: 'a', name: 'delete_file', input: { path: 'report.txt' } },
    ])
  })

  test('a call is found in the final response by its id or its arguments, however they are formatted', () => {
    const frames = [
      itemDone(0, call('a', 'look', '{"a":1}')),
      completed({ output: [call('a', 'look', '{ "a": 1 }')] }),
    ]
    expect(readFrames(frames)).toMatchObject({ error: undefined, ended: true })
    const rotated = [frames[0], completed({ output: [call('other', 'look', '{ "a": 1 }')] })]
    expect(readFrames(rotated)).toMatchObject({ error: undefined, ended: true })
  })
})

describe('encrypted reasoning', () => {
  test('is not sent to a model that cannot reason', async () => {
    const data = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
    const said: Message = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: '', opaque: { provider: 'openai', data } },
        { type: 'text', text: 'a' },
      ],
    }
    const messages = [user, said, user]
    expect(JSON.stringify(await sentBody('Responses', { messages }))).toContain('sealed')
    expect(JSON.stringify(await sentBody('Responses', { messages }, { name: 'gpt-4.1' }))).not.toContain(
      'sealed',
    )
  })

  test("is requested along with the caller's include", async () => {
    const settings = { extra: { include: ['file_search_call.results'] } }
    expect(await sentBody('Responses', { settings })).toMatchObject({
      include: ['reasoning.encrypted_content', 'file_search_call.results'],
    })
  })
})
