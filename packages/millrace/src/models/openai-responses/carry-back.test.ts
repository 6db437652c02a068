import { describe, expect, test } from 'vitest'
import type { JsonObject, Message } from '../../protocol/index.ts'
import { foldMessage } from '../../protocol/index.ts'
import { sent, user } from '../wires.test-kit.ts'
import { responsesBody } from './request.ts'
import {
  added,
  completed,
  created,
  finished,
  functionCall,
  hear,
  message,
  of,
  words,
} from './responses.test-kit.ts'

/** The items with which an answer comes back, and those of the results of its calls. */
function nextItems(frames: readonly unknown[], result: unknown = 'ok') {
  const { events, calls, error } = hear(frames)
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
    { model: 'acme-1', provider: 'acme', settings: {}, reasons: true },
  )
  return (body.input as JsonObject[]).slice(1)
}

const done = (...items: readonly object[]) => items.map((item, index) => finished(index, item))

describe('items go back as they came', () => {
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
    ['a search for tools and what it found', [search, found]],
    ['a program and its output', [program, output]],
    ['a compaction', [compaction]],
    ['an unknown type', [moon]],
  ])('%s', (_, items) => {
    const frames = [...done(...items), finished(items.length, message([words('Yes.')])), completed()]
    expect(nextItems(frames)).toEqual([...items, { role: 'assistant', content: 'Yes.' }])
  })

  test('a call of a program names it, and so does its result', () => {
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
    const output = [tools, message([words('Yes.')])]
    const frames = [
      created,
      added(0, { ...tools, tools: [] }),
      ...[added(1, message()), finished(1, message([words('Yes.')]))],
      completed({ output }),
    ]
    expect(nextItems(frames)).toEqual([{ role: 'assistant', content: 'Yes.' }, tools])
  })

  test('an item that was never streamed is taken from the final response', () => {
    const frames = [
      created,
      added(1, message()),
      finished(1, message([words('Yes.')])),
      completed({ output: [compaction, message([words('Yes.')])] }),
    ]
    expect(nextItems(frames)).toEqual([{ role: 'assistant', content: 'Yes.' }, compaction])
    // Where the places do not agree, nobody knows which one it is.
    const shifted = [...frames.slice(0, 3), completed({ output: [message([words('Yes.')]), compaction] })]
    expect(nextItems(shifted)).toEqual([{ role: 'assistant', content: 'Yes.' }])
  })
})

describe("calls of xAI's own tools", () => {
  const begun = (id: string, name: string) => ({
    id: `ctc_${id}`,
    type: 'custom_tool_call',
    call_id: id,
    name,
    input: '',
    status: 'in_progress',
  })
  const ran = (id: string, name: string, input: string) => ({
    ...begun(id, name),
    input,
    status: 'completed',
  })
  const query = '{"query":"from:xai"}'
  const frames = [
    created,
    added(0, begun('xs_1', 'x_keyword_search')),
    of(0, 'custom_tool_call_input.delta', { delta: query }),
    added(1, begun('xs_2', 'view_x_video')),
    of(1, 'custom_tool_call_input.delta', { delta: '{}' }),
    finished(1, ran('xs_2', 'view_x_video', '{}')),
    finished(0, ran('xs_1', 'x_keyword_search', query)),
    finished(2, message([words('Found.')])),
    completed(),
  ]

  test('are emitted and not run', () => {
    const { calls, finish, events } = hear(frames)
    expect({ calls, finish }).toEqual({ calls: [], finish: 'stop' })
    expect(events.filter(({ type }) => type === 'provider-tool')).toMatchObject([
      { callId: 'xs_1', name: 'x_keyword_search' },
      { callId: 'xs_2', name: 'view_x_video' },
      { callId: 'xs_2', name: 'view_x_video', input: {} },
      { callId: 'xs_1', name: 'x_keyword_search', input: { query: 'from:xai' } },
    ])
  })

  test('go back as they came', () => {
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
    const { events } = hear([finished(0, search), finished(1, message([words('Found.')])), completed()])
    expect(events[0]).toMatchObject({ type: 'provider-tool', callId: 'ws_1' })
  })
})

describe('a search for tools', () => {
  const searched = (call_id: string, more: object = {}) => ({
    id: 'tsc_1',
    type: 'tool_search_call',
    status: 'completed',
    arguments: { goal: 'weather' },
    call_id,
    ...more,
  })

  test('whose call_id changes is one search, with what it found', () => {
    const { events } = hear([
      added(0, searched('call_1', { execution: 'server', status: 'in_progress', arguments: {} })),
      finished(0, searched('call_2', { execution: 'server' })),
      finished(1, { id: 'tso_1', type: 'tool_search_output', call_id: 'call_2', tools: [] }),
      finished(2, message([words('Found.')])),
      completed(),
    ])
    const ids = events.flatMap((event) => (event.type === 'provider-tool' ? [event.callId] : []))
    expect(new Set(ids)).toEqual(new Set(['call_1']))
  })

  test('with execution client is a call of tool_search, and its result lists the tools', () => {
    const item = searched('call_2', { execution: 'client' })
    const begun = added(0, {
      ...searched('call_1', { execution: 'client' }),
      arguments: {},
      status: 'in_progress',
    })
    const tools = [{ type: 'function', name: 'get_weather', parameters: {} }]
    const frames = [begun, finished(0, item), completed({ output: [item] })]
    expect(hear(frames).calls).toEqual([
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

describe('an answer that begins again', () => {
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
  const cut = [created, added(0, call('a', 'delete_file', '', { status: 'in_progress' }))]
  const second = [
    added(0, call('b', 'read_file', '', { status: 'in_progress' })),
    of(0, 'function_call_arguments.delta', { item_id: 'fc_b', delta: path }),
    of(0, 'function_call_arguments.done', { item_id: 'fc_b', arguments: path }),
    finished(0, call('b', 'read_file', path)),
    completed({ id: 'resp_2', output: [call('b', 'read_file', path)] }),
  ]
  const again = { ...created, response: { ...created.response, id: 'resp_2' }, sequence_number: 0 }
  const read = { callId: 'b', name: 'read_file', input: { path: 'report.txt' } }

  test.each([
    ['by an item at its place', [...cut, ...second]],
    ['by another response', [...cut, again, ...second]],
    [
      'by an item at its place, after empty arguments',
      [...cut, of(0, 'function_call_arguments.done', { item_id: 'fc_a', arguments: '' }), ...second],
    ],
    ['by another response at once', [created, again, ...second]],
  ])('%s has only what came after', (_, frames) => {
    const { calls, events, error } = hear(frames)
    expect(error).toBeUndefined()
    expect(calls).toEqual([read])
    expect(foldMessage(events)?.content).toMatchObject([{ type: 'tool-call', name: 'read_file' }])
  })

  test.each([
    [
      'the end of a call of another tool',
      [...cut, finished(0, call('b', 'read_file', path))],
      "the end of a call of 'read_file' for a call of 'delete_file'",
    ],
    [
      'the end of an item of another kind',
      [...cut, finished(0, message([words('Hi')]))],
      'the end of a message',
    ],
    [
      'arguments under the id of another item, and none at the end',
      [
        ...cut,
        of(0, 'function_call_arguments.delta', { item_id: 'fc_b', delta: path }),
        finished(0, call('a', 'delete_file', '')),
      ],
      'in pieces of several items',
    ],
    [
      'a call that is not in the response',
      [
        ...[created, finished(0, call('a', 'delete_file', '{"path":"a"}'))],
        completed({ output: [call('b', 'read_file', path)] }),
      ],
      "a call of 'delete_file' that is not in its response",
    ],
  ])('%s is an error', (_, frames, said) => {
    expect(hear(frames).error).toMatchObject({
      code: 'stream_error',
      retryable: true,
      message: expect.stringContaining(said),
    })
  })

  test('the end of arguments under another id closes nothing', () => {
    const foreign = of(0, 'function_call_arguments.done', { item_id: 'fc_b', arguments: path })
    expect(hear([...cut, foreign]).calls).toEqual([])
    // The item itself tells whose they are, where ids change all the time.
    const end = finished(0, call('a', 'delete_file', path, { id: 'fc_c' }))
    expect(hear([...cut, foreign, end, completed()]).calls).toEqual([
      { callId: 'a', name: 'delete_file', input: { path: 'report.txt' } },
    ])
  })

  test('a call is found in the final response by its id or its arguments, however they are written', () => {
    const frames = [
      finished(0, call('a', 'look', '{"a":1}')),
      completed({ output: [call('a', 'look', '{ "a": 1 }')] }),
    ]
    expect(hear(frames)).toMatchObject({ error: undefined, over: true })
    const rotated = [frames[0], completed({ output: [call('other', 'look', '{ "a": 1 }')] })]
    expect(hear(rotated)).toMatchObject({ error: undefined, over: true })
  })
})

describe('encrypted reasoning', () => {
  test('does not go to a model that does not reason', async () => {
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

  test('is asked for beside what the caller includes', async () => {
    const settings = { extra: { include: ['file_search_call.results'] } }
    expect(await sent('Responses', { settings })).toMatchObject({
      include: ['reasoning.encrypted_content', 'file_search_call.results'],
    })
  })
})
