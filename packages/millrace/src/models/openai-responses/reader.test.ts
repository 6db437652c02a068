import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../protocol/index.ts'
import { foldMessage } from '../../protocol/index.ts'
import { responsesReader } from './reader.ts'
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

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }
const args = '{"city":"Rome"}'
const delta = (index: number, text: string) =>
  itemEvent(index, 'output_text.delta', { content_index: 0, delta: text, logprobs: [] })
const argument = (index: number, text: string) =>
  itemEvent(index, 'function_call_arguments.delta', { delta: text })

describe('text', () => {
  test('is emitted as it arrives, and once', () => {
    const { events } = readFrames([
      created,
      { type: 'response.in_progress', response: created.response },
      itemAdded(0, message()),
      itemEvent(0, 'content_part.added', { content_index: 0, part: outputText('') }),
      delta(0, 'Good '),
      delta(0, 'morning.'),
      itemEvent(0, 'output_text.done', { content_index: 0, text: 'Good morning.' }),
      itemEvent(0, 'content_part.done', { content_index: 0, part: outputText('Good morning.') }),
      itemDone(0, message([outputText('Good morning.')])),
      completed({
        output: [message([outputText('Good morning.')])],
        service_tier: 'default',
        usage: {
          input_tokens: 20,
          input_tokens_details: { cached_tokens: 12 },
          output_tokens: 9,
          output_tokens_details: { reasoning_tokens: 4 },
          total_tokens: 29,
        },
      }),
    ])
    expect(events).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'morning.' },
      {
        type: 'done',
        finish: 'stop',
        usage: { inputTokens: 20, outputTokens: 9, reasoningTokens: 4, cacheReadTokens: 12 },
        metadata: { id: 'resp_1', model: 'acme-1', serviceTier: 'default' },
      },
    ])
  })

  test('that was not streamed is emitted at its end', () => {
    const done = itemEvent(0, 'output_text.done', { content_index: 0, text: 'Hi' })
    const whole = message([outputText('Hi')])
    expect(readFrames([itemAdded(0, message()), done, itemDone(0, whole), completed()]).text).toBe('Hi')
    expect(readFrames([itemAdded(0, message()), itemDone(0, whole), completed()]).text).toBe('Hi')
    expect(readFrames([itemDone(0, whole), completed()]).text).toBe('Hi')
  })

  test('of an item without a start is still emitted', () => {
    expect(readFrames([delta(0, 'Hi'), completed()])).toMatchObject({ text: 'Hi', ended: true })
  })

  test('of two messages becomes two parts', () => {
    const { events } = readFrames([
      itemDone(0, message([outputText('One.')])),
      itemDone(1, message([outputText('Two.')])),
      completed(),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ])
  })

  test('keeps the phase of its message', () => {
    const { events } = readFrames([
      itemAdded(0, message([], { phase: 'commentary' })),
      delta(0, 'Let me look.'),
      itemDone(0, message([outputText('Let me look.')], { phase: 'commentary' })),
      itemAdded(1, message()),
      delta(1, 'A cat.'),
      itemDone(1, message([outputText('A cat.')], { phase: 'final_answer' })),
      completed(),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'text', text: 'Let me look.', opaque: { provider: 'acme', data: { phase: 'commentary' } } },
      { type: 'text', text: 'A cat.', opaque: { provider: 'acme', data: { phase: 'final_answer' } } },
    ])
  })
})

describe('a refusal', () => {
  const refusal = { type: 'refusal', refusal: 'I cannot.' }

  test('is emitted as text and as the finish reason', () => {
    const frames = [
      itemAdded(0, message()),
      itemEvent(0, 'refusal.delta', { content_index: 0, delta: 'I ' }),
      itemEvent(0, 'refusal.delta', { content_index: 0, delta: 'cannot.' }),
      itemEvent(0, 'refusal.done', { content_index: 0, refusal: 'I cannot.' }),
      itemDone(0, message([refusal])),
      completed(),
    ]
    expect(readFrames(frames)).toMatchObject({ text: 'I cannot.', finish: 'refusal' })
  })

  test('that was not streamed is a refusal too', () => {
    expect(readFrames([itemDone(0, message([refusal])), completed()])).toMatchObject({
      text: 'I cannot.',
      finish: 'refusal',
    })
  })
})

describe('reasoning', () => {
  const item = { id: 'rs_1', type: 'reasoning', summary: [] }
  const summary = (index: number, text: string) =>
    itemEvent(0, 'reasoning_summary_text.delta', { summary_index: index, delta: text })

  test('the parts of a summary are paragraphs, and the item keeps its encrypted content', () => {
    const whole = {
      ...item,
      encrypted_content: 'gAAA',
      status: 'completed',
      summary: [
        { type: 'summary_text', text: 'One.' },
        { type: 'summary_text', text: 'Two.' },
      ],
    }
    const { events } = readFrames([
      itemAdded(0, item),
      itemEvent(0, 'reasoning_summary_part.added', { summary_index: 0 }),
      summary(0, 'On'),
      summary(0, 'e.'),
      itemEvent(0, 'reasoning_summary_text.done', { summary_index: 0, text: 'One.' }),
      summary(1, 'Two.'),
      itemDone(0, whole),
      completed(),
    ])
    const { status, ...data } = whole
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'One.\n\nTwo.', opaque: { provider: 'acme', data } },
    ])
  })

  test('without text is kept too', () => {
    const whole = { ...item, encrypted_content: 'gAAA' }
    const { events } = readFrames([itemAdded(0, item), itemDone(0, whole), completed()])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: '', opaque: { provider: 'acme', data: whole } },
    ])
  })

  test('may be sent as text, with or without a summary', () => {
    const text = (words: string) => itemEvent(0, 'reasoning_text.delta', { content_index: 0, delta: words })
    expect(readFrames([itemAdded(0, item), text('Let me '), text('think.'), completed()]).reasoning).toBe(
      'Let me think.',
    )
    expect(
      readFrames([itemAdded(0, item), text('Let me think.'), summary(0, 'Thinking.'), completed()]).reasoning,
    ).toBe('Let me think.\n\nThinking.')
  })

  test('that was not streamed is emitted at its end', () => {
    const text = (words: string) => ({ type: 'reasoning_text', text: words })
    expect(
      readFrames([itemDone(0, { ...item, content: [text('Hm.'), text('Yes.')] }), completed()]).reasoning,
    ).toBe('Hm.\n\nYes.')
  })
})

describe('function calls', () => {
  test('are emitted as they arrive, and closed by the end of their item', () => {
    const { events } = readFrames([
      itemAdded(0, functionCall()),
      argument(0, '{"city":'),
      argument(0, '"Rome"}'),
      itemEvent(0, 'function_call_arguments.done', { arguments: args, name: 'weather' }),
      itemDone(0, functionCall(args)),
      completed({ output: [functionCall(args)] }),
    ])
    expect(events).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'weather' },
      { type: 'tool-input', callId: 'a', delta: '{"city":' },
      { type: 'tool-input', callId: 'a', delta: '"Rome"}' },
      { type: 'tool-call', ...rome },
      { type: 'done', finish: 'tool-calls', metadata: { id: 'resp_1', model: 'acme-1' } },
    ])
  })

  test('are joined by index, even if ids change mid-stream', () => {
    const rotated = (index: number, text: string, id: string) => ({ ...argument(index, text), item_id: id })
    const { calls } = readFrames([
      itemAdded(0, functionCall('', { id: 'x1' })),
      itemAdded(1, functionCall('', { id: 'y1', call_id: 'b', name: 'time' })),
      rotated(1, '{"zone":', 'y2'),
      rotated(0, '{"city":', 'x2'),
      rotated(0, '"Rome"}', 'x3'),
      rotated(1, '"UTC"}', 'y3'),
      itemDone(0, functionCall(args, { id: 'x4' })),
      itemDone(1, functionCall('{"zone":"UTC"}', { id: 'y4', call_id: 'b', name: 'time' })),
      completed(),
    ])
    expect(calls).toEqual([rome, { callId: 'b', name: 'time', input: { zone: 'UTC' } }])
  })

  test('are closed by the end of their arguments if the item has no end', () => {
    const end = itemEvent(0, 'function_call_arguments.done', { arguments: args })
    expect(readFrames([itemAdded(0, functionCall()), argument(0, args), end, completed()]).calls).toEqual([
      rome,
    ])
    // Also if it has no arguments, or there were none before it.
    const bare = itemEvent(0, 'function_call_arguments.done', {})
    expect(readFrames([itemAdded(0, functionCall()), argument(0, args), bare, completed()]).calls).toEqual([
      rome,
    ])
    expect(readFrames([itemAdded(0, functionCall()), end, completed()]).calls).toEqual([rome])
  })

  test('whose arguments were not streamed are emitted at the end', () => {
    const { events, calls } = readFrames([
      itemAdded(0, functionCall()),
      itemDone(0, functionCall(args)),
      completed(),
    ])
    expect(events[1]).toEqual({ type: 'tool-input', callId: 'a', delta: args })
    expect(calls).toEqual([rome])
    expect(readFrames([itemDone(0, functionCall(args)), completed()]).calls).toEqual([rome])
  })

  test('that are only in the final response are found there', () => {
    expect(
      readFrames([
        itemAdded(0, functionCall()),
        argument(0, '{"ci'),
        completed({ output: [functionCall(args)] }),
      ]).calls,
    ).toEqual([rome])
  })

  test('keep the namespace of their tool', () => {
    const { events } = readFrames([itemDone(0, functionCall(args, { namespace: 'crm' })), completed()])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      opaque: { provider: 'acme', data: { namespace: 'crm' } },
    })
  })

  test('without arguments are complete only if the answer was not cut off', () => {
    const open = itemAdded(0, functionCall())
    const end = itemEvent(0, 'function_call_arguments.done', { arguments: '' })
    const none = [{ callId: 'a', name: 'weather', input: {} }]
    expect(
      readFrames([open, end, itemDone(0, functionCall('', { status: 'completed' })), completed()]).calls,
    ).toEqual(none)
    expect(readFrames([open, end, completed()]).calls).toEqual(none)
    const cut = {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    }
    expect(readFrames([open, end, cut]).calls).toEqual([])
    expect(
      readFrames([open, end, itemDone(0, functionCall('', { status: 'incomplete' })), cut]).calls,
    ).toEqual([])
  })

  test('that are incomplete are not closed', () => {
    const cut = functionCall('{"city":', { status: 'incomplete' })
    const { calls, finish } = readFrames([
      itemAdded(0, functionCall()),
      argument(0, '{"city":'),
      itemDone(0, cut),
      {
        type: 'response.incomplete',
        response: {
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
          output: [cut],
        },
      },
    ])
    expect({ calls, finish }).toEqual({ calls: [], finish: 'length' })
  })

  test('are closed at once, not at the end of the answer', () => {
    const [open, end] = [
      itemAdded(0, functionCall()),
      itemEvent(0, 'function_call_arguments.done', { arguments: args }),
    ]
    expect(readFrames([open, argument(0, args), end]).calls).toEqual([rome])
    expect(readFrames([open, argument(0, args), itemDone(0, functionCall(args))]).calls).toEqual([rome])
    expect(readFrames([open, itemDone(0, functionCall(args, { status: undefined }))]).calls).toEqual([rome])
  })

  test('are closed once and do not grow afterwards', () => {
    const [open, end] = [
      itemAdded(0, functionCall()),
      itemEvent(0, 'function_call_arguments.done', { arguments: args }),
    ]
    const whole = itemDone(0, functionCall(args))
    const { events } = readFrames([
      open,
      argument(0, args),
      end,
      end,
      argument(0, '!'),
      whole,
      whole,
      completed(),
    ])
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  })

  test('that were never closed are not emitted', () => {
    const started = [itemAdded(0, functionCall()), argument(0, '{"ci')]
    expect(readFrames([...started, completed()])).toMatchObject({ calls: [], ended: true })
    const cut = functionCall('{"ci', { status: 'incomplete' })
    expect(readFrames([...started, completed({ output: [cut] })])).toMatchObject({ calls: [], ended: true })
  })

  test('that have not started cannot get arguments', () => {
    expect(readFrames([argument(0, '{"city":')]).error).toMatchObject({
      code: 'stream_error',
      retryable: true,
    })
  })
})

describe('other calls that we run', () => {
  const callsOf = (item: object, ...before: readonly object[]) => {
    const { events } = readFrames([...before, itemDone(0, item), completed()])
    return events.filter(({ type }) => type.startsWith('tool-'))
  }

  test('a custom tool gets its text as input', () => {
    const item = {
      id: 'ctc_1',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'a',
      name: 'sql',
      input: 'select 1',
    }
    const { status, ...data } = item
    const started = itemAdded(0, { ...item, input: '', status: 'in_progress' })
    const text = itemEvent(0, 'custom_tool_call_input.delta', { delta: 'select 1' })
    const end = itemEvent(0, 'custom_tool_call_input.done', { input: 'select 1' })
    expect(callsOf(item, started, text, end)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'sql' },
      { type: 'tool-input', callId: 'a', delta: '{"input":"select 1"}' },
      {
        type: 'tool-call',
        callId: 'a',
        name: 'sql',
        input: { input: 'select 1' },
        opaque: { provider: 'acme', data },
      },
    ])
  })

  test.each([
    [
      'a local shell call is a call to the tool shell',
      'shell',
      {
        id: 'lsh_1',
        type: 'local_shell_call',
        status: 'completed',
        call_id: 'a',
        action: { type: 'exec', command: ['ls', '-a'], env: {}, timeout_ms: 1000 },
      },
      { command: ['ls', '-a'], env: {}, timeout_ms: 1000 },
    ],
    [
      'a shell call is a call to the tool shell',
      'shell',
      {
        id: 'sh_1',
        type: 'shell_call',
        status: 'completed',
        call_id: 'a',
        action: { commands: ['ls', 'pwd'], timeout_ms: null, max_output_length: null },
        environment: { type: 'local' },
      },
      { commands: ['ls', 'pwd'], timeout_ms: null, max_output_length: null },
    ],
    [
      'a patch is a call to the tool apply_patch',
      'apply_patch',
      {
        id: 'apc_1',
        type: 'apply_patch_call',
        status: 'completed',
        call_id: 'a',
        operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' },
      },
      { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' },
    ],
  ])('%s, and is sent back unchanged', (_, name, item, input) => {
    const started = itemAdded(0, { ...item, status: 'in_progress' })
    expect(callsOf(item, started)).toEqual([
      { type: 'tool-input-start', callId: 'a', name },
      { type: 'tool-input', callId: 'a', delta: JSON.stringify(input) },
      { type: 'tool-call', callId: 'a', name, input, opaque: { provider: 'acme', data: item } },
    ])
  })

  const request = {
    id: 'mcpr_1',
    type: 'mcp_approval_request',
    name: 'echo',
    server_label: 'crm',
    arguments: '{"a":1}',
  }

  test('an approval request of an MCP server is a call to the tool mcp_approval', () => {
    const input = { server: 'crm', tool: 'echo', arguments: { a: 1 } }
    const started = itemAdded(0, { ...request, arguments: '' })
    expect(callsOf(request, started)).toEqual([
      { type: 'tool-input-start', callId: 'mcpr_1', name: 'mcp_approval' },
      { type: 'tool-input', callId: 'mcpr_1', delta: JSON.stringify(input) },
      {
        type: 'tool-call',
        callId: 'mcpr_1',
        name: 'mcp_approval',
        input,
        opaque: { provider: 'acme', data: request },
      },
    ])
    expect(readFrames([itemDone(0, request), completed()]).events.at(-1)).toMatchObject({
      finish: 'tool-calls',
    })
  })

  test.each([
    ['', {}],
    ['[1]', '[1]'],
    ['{"a":', '{"a":'],
  ])('its arguments are passed as a string if they are not an object: %j', (written, read) => {
    const asked = callsOf({ ...request, arguments: written }).at(-1)
    expect(asked).toMatchObject({
      type: 'tool-call',
      input: { server: 'crm', tool: 'echo', arguments: read },
    })
  })

  test('a shell call with streamed commands is one call, emitted when complete', () => {
    const item = {
      id: 'sh_1',
      type: 'shell_call',
      call_id: 'a',
      status: 'completed',
      action: { commands: ['ls -la', 'pwd'], timeout_ms: 60_000, max_output_length: 4096 },
      environment: { type: 'local' },
    }
    const { action } = item
    const written = action.commands.flatMap((command, command_index) => [
      itemEvent(0, 'shell_call_command.added', { command: '', command_index }),
      ...[...command].map((delta) =>
        itemEvent(0, 'shell_call_command.delta', { delta, command_index, obfuscation: 'x9' }),
      ),
      itemEvent(0, 'shell_call_command.done', { command, command_index }),
    ])
    const started = itemAdded(0, { ...item, status: 'in_progress', action: { ...action, commands: [] } })
    expect(callsOf(item, started, ...written)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'shell' },
      { type: 'tool-input', callId: 'a', delta: JSON.stringify(action) },
      {
        type: 'tool-call',
        callId: 'a',
        name: 'shell',
        input: action,
        opaque: { provider: 'acme', data: item },
      },
    ])
  })

  test("the output of the provider's shell is not model text", () => {
    const delta = { stdout: 'total 0\n' }
    const printed = [1, 2, 3].map(() =>
      itemEvent(0, 'shell_call_output_content.delta', { command_index: 0, delta }),
    )
    const end = itemEvent(0, 'shell_call_output_content.done', { command_index: 0, output: [] })
    expect(readFrames([...printed, end, completed()]).events.map(({ type }) => type)).toEqual(['done'])
  })

  test('an incomplete call is not closed', () => {
    const item = {
      type: 'local_shell_call',
      call_id: 'a',
      status: 'incomplete',
      action: { type: 'exec', command: ['rm'] },
    }
    expect(callsOf(item).map(({ type }) => type)).toEqual(['tool-input-start'])
  })
})

describe('a tool that the provider runs', () => {
  test.each([
    [
      { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'cats' } },
      { name: 'web_search', input: { type: 'search', query: 'cats' } },
    ],
    [
      {
        id: 'fs_1',
        type: 'file_search_call',
        status: 'completed',
        queries: ['cats'],
        results: [{ file_id: 'f' }],
      },
      { name: 'file_search', input: ['cats'], output: [{ file_id: 'f' }] },
    ],
    [
      {
        id: 'ci_1',
        type: 'code_interpreter_call',
        status: 'completed',
        code: '{"a": 1}',
        container_id: 'c',
        outputs: [{ type: 'logs', logs: '1' }],
      },
      { name: 'code_interpreter', input: '{"a": 1}', output: [{ type: 'logs', logs: '1' }] },
    ],
    [
      { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'iVBORw==' },
      { name: 'image_generation', output: 'iVBORw==' },
    ],
    [
      {
        id: 'mcp_1',
        type: 'mcp_call',
        name: 'echo',
        server_label: 'crm',
        arguments: '{"a":1}',
        output: 'a is 1',
        error: null,
      },
      { name: 'echo', input: { a: 1 }, output: 'a is 1' },
    ],
    [
      {
        id: 'mcpl_1',
        type: 'mcp_list_tools',
        server_label: 'crm',
        tools: [{ name: 'echo', input_schema: {} }],
      },
      { name: 'mcp_list_tools', output: [{ name: 'echo', input_schema: {} }] },
    ],
  ])('$type is emitted at its start and when complete', (item, expected) => {
    const started = {
      id: item.id,
      type: item.type,
      status: 'in_progress',
      ...('name' in item && { name: item.name }),
    }
    const { events } = readFrames([
      itemAdded(0, started),
      itemEvent(0, `${item.type}.in_progress`, {}),
      itemEvent(0, `${item.type}.completed`, {}),
      itemDone(0, item),
      itemDone(1, message([outputText('Done.')])),
      completed(),
    ])
    const { name } = expected
    expect(events.slice(0, -2)).toEqual([
      { type: 'provider-tool', callId: item.id, name },
      { type: 'provider-tool', callId: item.id, ...expected, opaque: { provider: 'acme', data: item } },
    ])
    // Nothing for us to run.
    expect(events.at(-1)).toMatchObject({ type: 'done', finish: 'stop' })
  })

  test('is emitted as complete once', () => {
    const item = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } }
    const { events } = readFrames([itemAdded(0, item), itemDone(0, item), itemDone(0, item), completed()])
    expect(events.map(({ type }) => type)).toEqual(['provider-tool', 'provider-tool', 'done'])
  })

  test('that failed is marked as an error', () => {
    const error = { type: 'mcp_tool_execution_error', content: [] }
    const item = {
      id: 'mcp_1',
      type: 'mcp_call',
      name: 'echo',
      arguments: '{}',
      status: 'failed',
      error,
      output: null,
    }
    const expected = { isError: true, output: error }
    expect(readFrames([itemDone(0, item), completed()]).events[1]).toMatchObject(expected)
    expect(readFrames([itemDone(0, { ...item, status: 'completed' }), completed()]).events[1]).toMatchObject(
      expected,
    )
    const silent = { id: 'ws_1', type: 'web_search_call', status: 'failed' }
    expect(readFrames([itemDone(0, silent), completed()]).events[1]).toMatchObject({
      isError: true,
      output: null,
    })
  })
})

describe('ends', () => {
  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content-filter'],
    ['moon_phase', 'other'],
  ])('incomplete for %s is %s', (reason, finish) => {
    const response = { ...completed().response, status: 'incomplete', incomplete_details: { reason } }
    const done = { type: 'done', finish, metadata: { id: 'resp_1', model: 'acme-1', finishReason: reason } }
    expect(readFrames([delta(0, 'Hi'), { type: 'response.incomplete', response }]).events.at(-1)).toEqual(
      done,
    )
    // Some servers have one event for every kind of end.
    expect(readFrames([delta(0, 'Hi'), { type: 'response.completed', response }]).events.at(-1)).toEqual(done)
  })

  test('an empty response.completed still ends the answer', () => {
    expect(readFrames([delta(0, 'Hi'), { type: 'response.completed' }])).toMatchObject({
      ended: true,
      finish: 'stop',
    })
    expect(readFrames([delta(0, 'Hi'), { type: 'response.incomplete' }])).toMatchObject({
      ended: true,
      finish: 'other',
    })
    expect(
      readFrames([{ type: 'response.failed', response: { status: 'failed', error: null } }]).error,
    ).toMatchObject({
      code: 'llm_error',
      message: 'acme failed',
    })
  })

  test('a stream that stops before that has not ended', () => {
    expect(readFrames([created, delta(0, 'Hi')])).toMatchObject({ ended: false, finish: undefined })
    expect(readFrames([created, delta(0, 'Hi'), '[DONE]'])).toMatchObject({ ended: false })
  })

  test.each([
    [
      'response.failed',
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down' } },
      },
      'rate_limit',
    ],
    [
      'response.completed that failed',
      {
        type: 'response.completed',
        response: { status: 'failed', error: { code: 'server_error', message: 'Slow down' } },
      },
      'llm_error',
    ],
    [
      'error with its fields at the top',
      { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down', param: null },
      'rate_limit',
    ],
    [
      'error with its fields inside',
      { type: 'error', error: { type: 'server_error', code: 'server_is_overloaded', message: 'Slow down' } },
      'overloaded',
    ],
    ['an error without a type', { error: { type: 'server_error', message: 'Slow down' } }, 'llm_error'],
  ])('%s is thrown after the events before it', (_, frame, code) => {
    const { text, error, ended } = readFrames([created, delta(0, 'Hi'), frame, completed()])
    expect({ text, ended }).toEqual({ text: 'Hi', ended: false })
    expect(error).toMatchObject({ code, message: expect.stringContaining('Slow down') })
  })

  test('everything may be in response.completed alone', () => {
    const output = [
      { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      message([outputText('Let me look.')]),
      functionCall(args),
    ]
    expect(readFrames([created, completed({ output })])).toMatchObject({
      reasoning: 'Hm.',
      text: 'Let me look.',
      calls: [rome],
      finish: 'tool-calls',
    })
  })

  test('a cut-off answer may be in response.incomplete alone', () => {
    const output = [message([outputText('Let me')]), functionCall('{"ci', { status: 'incomplete' })]
    const response = { output, incomplete_details: { reason: 'max_output_tokens' } }
    expect(readFrames([{ type: 'response.incomplete', response }])).toMatchObject({
      text: 'Let me',
      calls: [],
      finish: 'length',
    })
  })
})

describe('irregular streams', () => {
  test('unknown events, items and parts are ignored', () => {
    const frames = [
      created,
      { type: 'response.queued', response: {} },
      { type: 'response.moon_phase.delta', output_index: 0, delta: 'x' },
      itemAdded(0, { id: 'm', type: 'moon_phase' }),
      itemDone(0, { id: 'm', type: 'moon_phase' }),
      itemAdded(1, null as never),
      { type: 'codex.rate_limits' },
      'null',
      '',
      itemDone(2, message([{ type: 'moon' }, outputText('Hi')])),
      completed(),
    ]
    expect(readFrames(frames)).toMatchObject({ text: 'Hi', ended: true, error: undefined })
  })

  test('the event name is used if the data has no type', () => {
    const reader = responsesReader([], { provider: 'acme' })
    reader.read('{"type":"response.moon"}', 'response.completed')
    expect(reader.ended).toBe(false)
    reader.read('{"response":{}}', 'response.completed')
    expect(reader.ended).toBe(true)
  })

  test('a repeated event is emitted once', () => {
    const twice = (frame: object, sequence_number: number) => [
      { ...frame, sequence_number },
      { ...frame, sequence_number },
    ]
    const frames = [
      ...twice(itemAdded(0, functionCall()), 0),
      ...twice(argument(0, '{"city":'), 1),
      ...twice(argument(0, '"Rome"}'), 2),
      ...twice(itemDone(0, functionCall(args)), 3),
      completed(),
    ]
    const { calls, events } = readFrames(frames)
    expect(calls).toEqual([rome])
    expect(events.filter(({ type }) => type === 'tool-input')).toHaveLength(2)
  })

  test('two equal deltas in a row are both emitted, numbered or not', () => {
    expect(readFrames([delta(0, 'ha'), delta(0, 'ha'), completed()]).text).toBe('haha')
    const plain = JSON.stringify(delta(0, 'ha'))
    expect(readFrames([plain, plain, completed()]).text).toBe('haha')
  })

  test('numbers that never change are ignored', () => {
    const stuck = (frame: object) => ({ ...frame, sequence_number: 0 })
    expect(readFrames([delta(0, 'a'), delta(0, 'b'), completed()].map(stuck))).toMatchObject({
      text: 'ab',
      ended: true,
    })
  })

  test('no empty deltas are emitted', () => {
    const { events } = readFrames([
      delta(0, ''),
      { ...delta(0, ''), delta: null },
      itemEvent(1, 'reasoning_summary_text.delta', { summary_index: 0, delta: '' }),
      itemAdded(2, functionCall()),
      argument(2, ''),
      { ...argument(2, ''), delta: null },
      completed(),
    ])
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'done'])
  })

  test('swapped events are an error before anything wrong is emitted', () => {
    const first = { ...delta(0, 'Good '), sequence_number: 1 }
    const second = { ...delta(0, 'morning.'), sequence_number: 2 }
    expect(readFrames([created, second, first]).error).toMatchObject({
      code: 'stream_error',
      retryable: true,
    })
  })

  test('a Chat Completions stream gets a specific error', () => {
    expect(readFrames([{ object: 'chat.completion.chunk', choices: [] }]).error).toMatchObject({
      code: 'llm_error',
      message: expect.stringContaining('openaiChat()'),
    })
  })
})

describe('similar events', () => {
  const numbered = (frames: readonly object[]) =>
    frames.map((frame, sequence_number) => ({
      ...frame,
      sequence_number,
      obfuscation: `x${sequence_number}`,
    }))

  test('are each emitted in their own item', () => {
    const { events, calls } = readFrames([
      ...numbered([
        created,
        itemAdded(0, message()),
        ...['a', 'a', '"\n', 'b'].map((text) => delta(0, text)),
        itemDone(0, message([outputText('aa"\nb')])),
        itemAdded(1, functionCall()),
        ...['{"city"', ':"Ro', 'me', '"}'].map((text) => argument(1, text)),
        itemDone(1, functionCall(args)),
        completed(),
      ]),
    ])
    expect(calls).toEqual([rome])
    const deltas = events.flatMap((event) =>
      'text' in event ? [event.text] : 'delta' in event ? [event.delta] : [],
    )
    expect(deltas).toEqual(['a', 'a', '"\n', 'b', '{"city"', ':"Ro', 'me', '"}'])
  })

  test('that are identical, including their number, are emitted once', () => {
    const [first = {}, second = {}, third = {}, fourth = {}] = numbered([
      itemAdded(0, message()),
      delta(0, 'a'),
      delta(0, 'b'),
      delta(0, 'c'),
    ])
    expect(readFrames([first, second, second, third, third, third, fourth, completed()]).text).toBe('abc')
  })

  test('in the wrong order are not read', () => {
    const [first = {}, second = {}, third = {}, fourth = {}] = numbered([
      itemAdded(0, message()),
      delta(0, 'a'),
      delta(0, 'b'),
      delta(0, 'c'),
    ])
    const { text, error } = readFrames([first, second, third, fourth, third])
    expect(text).toBe('abc')
    expect(error).toMatchObject({ code: 'stream_error' })
  })
})

describe('usage', () => {
  const usage = { input_tokens: 5, output_tokens: 2 }
  const search = (id: string, more: object = {}) => ({
    id,
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'cats' },
    ...more,
  })
  const streamed = [
    itemDone(0, search('ws_1')),
    itemDone(1, search('ws_2', { action: { type: 'open_page', url: 'https://example.org' } })),
    itemDone(2, search('ws_3', { action: undefined })),
    itemDone(3, search('ws_4', { status: 'failed' })),
  ]
  const output = streamed.map(({ item }) => item)

  test('counts the web searches that OpenAI reports', () => {
    const more = { usage, tool_usage: { web_search: { num_requests: 7 } } }
    expect(readFrames([created, ...streamed, completed({ output, ...more })]).usage).toStrictEqual({
      inputTokens: 5,
      outputTokens: 2,
      webSearches: 7,
    })
    const none = { usage, tool_usage: { web_search: { num_requests: 0 } } }
    expect(readFrames([created, ...streamed, completed({ output, ...none })]).usage).toStrictEqual({
      inputTokens: 5,
      outputTokens: 2,
    })
  })

  test('else the searches among the items, which a server lists or streams', () => {
    const expected = { inputTokens: 5, outputTokens: 2, webSearches: 2 }
    expect(readFrames([created, ...streamed, completed({ output, usage })]).usage).toStrictEqual(expected)
    expect(readFrames([created, ...streamed, completed({ usage })]).usage).toStrictEqual(expected)
    expect(readFrames([created, completed({ output, usage })]).usage).toStrictEqual(expected)
  })

  test('includes the searches before the point where a response is resumed', () => {
    const events: ModelEvent[] = []
    const reader = responsesReader(events, { provider: 'acme', from: { id: 'resp_1', sequence: 1 } })
    for (const [at, frame] of [streamed[1], completed({ output, usage })].entries())
      reader.read(JSON.stringify({ sequence_number: at + 2, ...frame }), '')
    expect(events.at(-1)).toMatchObject({ type: 'done', usage: { webSearches: 2 } })
  })

  test('includes audio and images, if there are any', () => {
    const details = {
      input_tokens_details: { audio_tokens: 3, image_tokens: 1 },
      output_tokens_details: { image_tokens: 2 },
    }
    expect(readFrames([created, completed({ usage: { ...usage, ...details } })]).usage).toStrictEqual({
      inputTokens: 5,
      outputTokens: 2,
      inputAudioTokens: 3,
      inputImageTokens: 1,
      outputImageTokens: 2,
    })
  })
})
