import { describe, expect, test } from 'vitest'
import { foldMessage } from '../../protocol/index.ts'
import { responsesReader } from './reader.ts'
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

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }
const args = '{"city":"Rome"}'
const delta = (index: number, text: string) =>
  of(index, 'output_text.delta', { content_index: 0, delta: text, logprobs: [] })
const argument = (index: number, text: string) => of(index, 'function_call_arguments.delta', { delta: text })

describe('text', () => {
  test('is told as it comes, and once', () => {
    const { events } = hear([
      created,
      { type: 'response.in_progress', response: created.response },
      added(0, message()),
      of(0, 'content_part.added', { content_index: 0, part: words('') }),
      delta(0, 'Good '),
      delta(0, 'morning.'),
      of(0, 'output_text.done', { content_index: 0, text: 'Good morning.' }),
      of(0, 'content_part.done', { content_index: 0, part: words('Good morning.') }),
      finished(0, message([words('Good morning.')])),
      completed({
        output: [message([words('Good morning.')])],
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

  test('that was not streamed is told from its end', () => {
    const done = of(0, 'output_text.done', { content_index: 0, text: 'Hi' })
    const whole = message([words('Hi')])
    expect(hear([added(0, message()), done, finished(0, whole), completed()]).text).toBe('Hi')
    expect(hear([added(0, message()), finished(0, whole), completed()]).text).toBe('Hi')
    expect(hear([finished(0, whole), completed()]).text).toBe('Hi')
  })

  test('whose item was not announced is told all the same', () => {
    expect(hear([delta(0, 'Hi'), completed()])).toMatchObject({ text: 'Hi', over: true })
  })

  test('of two messages is two parts', () => {
    const { events } = hear([
      finished(0, message([words('One.')])),
      finished(1, message([words('Two.')])),
      completed(),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ])
  })

  test('keeps the phase of its message', () => {
    const { events } = hear([
      added(0, message([], { phase: 'commentary' })),
      delta(0, 'Let me look.'),
      finished(0, message([words('Let me look.')], { phase: 'commentary' })),
      added(1, message()),
      delta(1, 'A cat.'),
      finished(1, message([words('A cat.')], { phase: 'final_answer' })),
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

  test('is told as text, and as the reason of the end', () => {
    const frames = [
      added(0, message()),
      of(0, 'refusal.delta', { content_index: 0, delta: 'I ' }),
      of(0, 'refusal.delta', { content_index: 0, delta: 'cannot.' }),
      of(0, 'refusal.done', { content_index: 0, refusal: 'I cannot.' }),
      finished(0, message([refusal])),
      completed(),
    ]
    expect(hear(frames)).toMatchObject({ text: 'I cannot.', finish: 'refusal' })
  })

  test('that was not streamed is one too', () => {
    expect(hear([finished(0, message([refusal])), completed()])).toMatchObject({
      text: 'I cannot.',
      finish: 'refusal',
    })
  })
})

describe('reasoning', () => {
  const item = { id: 'rs_1', type: 'reasoning', summary: [] }
  const summary = (index: number, text: string) =>
    of(0, 'reasoning_summary_text.delta', { summary_index: index, delta: text })

  test('the parts of a summary are paragraphs, and the item goes back with its secret', () => {
    const whole = {
      ...item,
      encrypted_content: 'gAAA',
      status: 'completed',
      summary: [
        { type: 'summary_text', text: 'One.' },
        { type: 'summary_text', text: 'Two.' },
      ],
    }
    const { events } = hear([
      added(0, item),
      of(0, 'reasoning_summary_part.added', { summary_index: 0 }),
      summary(0, 'On'),
      summary(0, 'e.'),
      of(0, 'reasoning_summary_text.done', { summary_index: 0, text: 'One.' }),
      summary(1, 'Two.'),
      finished(0, whole),
      completed(),
    ])
    const { status, ...data } = whole
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'One.\n\nTwo.', opaque: { provider: 'acme', data } },
    ])
  })

  test('without words goes back all the same', () => {
    const whole = { ...item, encrypted_content: 'gAAA' }
    const { events } = hear([added(0, item), finished(0, whole), completed()])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: '', opaque: { provider: 'acme', data: whole } },
    ])
  })

  test('may be told itself, alone or beside its summary', () => {
    const text = (words: string) => of(0, 'reasoning_text.delta', { content_index: 0, delta: words })
    expect(hear([added(0, item), text('Let me '), text('think.'), completed()]).reasoning).toBe(
      'Let me think.',
    )
    expect(
      hear([added(0, item), text('Let me think.'), summary(0, 'Thinking.'), completed()]).reasoning,
    ).toBe('Let me think.\n\nThinking.')
  })

  test('that was not streamed is told from its end', () => {
    const text = (words: string) => ({ type: 'reasoning_text', text: words })
    expect(
      hear([finished(0, { ...item, content: [text('Hm.'), text('Yes.')] }), completed()]).reasoning,
    ).toBe('Hm.\n\nYes.')
  })
})

describe('function calls', () => {
  test('are told as they come, and closed by the end of their item', () => {
    const { events } = hear([
      added(0, functionCall()),
      argument(0, '{"city":'),
      argument(0, '"Rome"}'),
      of(0, 'function_call_arguments.done', { arguments: args, name: 'weather' }),
      finished(0, functionCall(args)),
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

  test('are joined by their place: ids that change all the time do no harm', () => {
    const rotated = (index: number, text: string, id: string) => ({ ...argument(index, text), item_id: id })
    const { calls } = hear([
      added(0, functionCall('', { id: 'x1' })),
      added(1, functionCall('', { id: 'y1', call_id: 'b', name: 'time' })),
      rotated(1, '{"zone":', 'y2'),
      rotated(0, '{"city":', 'x2'),
      rotated(0, '"Rome"}', 'x3'),
      rotated(1, '"UTC"}', 'y3'),
      finished(0, functionCall(args, { id: 'x4' })),
      finished(1, functionCall('{"zone":"UTC"}', { id: 'y4', call_id: 'b', name: 'time' })),
      completed(),
    ])
    expect(calls).toEqual([rome, { callId: 'b', name: 'time', input: { zone: 'UTC' } }])
  })

  test('are closed by the end of their arguments where there is no other', () => {
    const end = of(0, 'function_call_arguments.done', { arguments: args })
    expect(hear([added(0, functionCall()), argument(0, args), end, completed()]).calls).toEqual([rome])
    // Also without the arguments in it, or before it.
    const bare = of(0, 'function_call_arguments.done', {})
    expect(hear([added(0, functionCall()), argument(0, args), bare, completed()]).calls).toEqual([rome])
    expect(hear([added(0, functionCall()), end, completed()]).calls).toEqual([rome])
  })

  test('whose arguments were never streamed are told from the end', () => {
    const { events, calls } = hear([added(0, functionCall()), finished(0, functionCall(args)), completed()])
    expect(events[1]).toEqual({ type: 'tool-input', callId: 'a', delta: args })
    expect(calls).toEqual([rome])
    expect(hear([finished(0, functionCall(args)), completed()]).calls).toEqual([rome])
  })

  test('that are only in the whole response are found there', () => {
    expect(
      hear([added(0, functionCall()), argument(0, '{"ci'), completed({ output: [functionCall(args)] })])
        .calls,
    ).toEqual([rome])
  })

  test('of a tool in a namespace give it back', () => {
    const { events } = hear([finished(0, functionCall(args, { namespace: 'crm' })), completed()])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      opaque: { provider: 'acme', data: { namespace: 'crm' } },
    })
  })

  test('with no arguments at all are calls only if the answer was not cut off', () => {
    const open = added(0, functionCall())
    const end = of(0, 'function_call_arguments.done', { arguments: '' })
    const none = [{ callId: 'a', name: 'weather', input: {} }]
    expect(
      hear([open, end, finished(0, functionCall('', { status: 'completed' })), completed()]).calls,
    ).toEqual(none)
    expect(hear([open, end, completed()]).calls).toEqual(none)
    const cut = {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    }
    expect(hear([open, end, cut]).calls).toEqual([])
    expect(hear([open, end, finished(0, functionCall('', { status: 'incomplete' })), cut]).calls).toEqual([])
  })

  test('that are incomplete are not closed', () => {
    const cut = functionCall('{"city":', { status: 'incomplete' })
    const { calls, finish } = hear([
      added(0, functionCall()),
      argument(0, '{"city":'),
      finished(0, cut),
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

  test('are closed at once, not when the answer is over', () => {
    const [open, end] = [added(0, functionCall()), of(0, 'function_call_arguments.done', { arguments: args })]
    expect(hear([open, argument(0, args), end]).calls).toEqual([rome])
    expect(hear([open, argument(0, args), finished(0, functionCall(args))]).calls).toEqual([rome])
    expect(hear([open, finished(0, functionCall(args, { status: undefined }))]).calls).toEqual([rome])
  })

  test('are closed once, and do not grow afterwards', () => {
    const [open, end] = [added(0, functionCall()), of(0, 'function_call_arguments.done', { arguments: args })]
    const whole = finished(0, functionCall(args))
    const { events } = hear([open, argument(0, args), end, end, argument(0, '!'), whole, whole, completed()])
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  })

  test('that nobody closed are none', () => {
    const begun = [added(0, functionCall()), argument(0, '{"ci')]
    expect(hear([...begun, completed()])).toMatchObject({ calls: [], over: true })
    const cut = functionCall('{"ci', { status: 'incomplete' })
    expect(hear([...begun, completed({ output: [cut] })])).toMatchObject({ calls: [], over: true })
  })

  test('that were never begun cannot be gone on with', () => {
    expect(hear([argument(0, '{"city":')]).error).toMatchObject({ code: 'stream_error', retryable: true })
  })
})

describe('other calls that are ours to run', () => {
  const callsOf = (item: object, ...before: readonly object[]) => {
    const { events } = hear([...before, finished(0, item), completed()])
    return events.filter(({ type }) => type.startsWith('tool-'))
  }

  test('a custom tool is given its text', () => {
    const item = {
      id: 'ctc_1',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'a',
      name: 'sql',
      input: 'select 1',
    }
    const { status, ...data } = item
    const begun = added(0, { ...item, input: '', status: 'in_progress' })
    const text = of(0, 'custom_tool_call_input.delta', { delta: 'select 1' })
    const end = of(0, 'custom_tool_call_input.done', { input: 'select 1' })
    expect(callsOf(item, begun, text, end)).toEqual([
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
      'a local shell call is one of the tool shell',
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
      'so is a shell call',
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
      'a patch is a call of the tool apply_patch',
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
  ])('%s, and comes back as it was', (_, name, item, input) => {
    const begun = added(0, { ...item, status: 'in_progress' })
    expect(callsOf(item, begun)).toEqual([
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

  test('what a server of MCP asks a person is a call of the tool mcp_approval', () => {
    const input = { server: 'crm', tool: 'echo', arguments: { a: 1 } }
    const begun = added(0, { ...request, arguments: '' })
    expect(callsOf(request, begun)).toEqual([
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
    expect(hear([finished(0, request), completed()]).events.at(-1)).toMatchObject({ finish: 'tool-calls' })
  })

  test.each([
    ['', {}],
    ['[1]', '[1]'],
    ['{"a":', '{"a":'],
  ])('its arguments are shown as they are if they are no object: %j', (written, read) => {
    const asked = callsOf({ ...request, arguments: written }).at(-1)
    expect(asked).toMatchObject({
      type: 'tool-call',
      input: { server: 'crm', tool: 'echo', arguments: read },
    })
  })

  test('a shell call whose commands are streamed is one call, told when it is whole', () => {
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
      of(0, 'shell_call_command.added', { command: '', command_index }),
      ...[...command].map((delta) =>
        of(0, 'shell_call_command.delta', { delta, command_index, obfuscation: 'x9' }),
      ),
      of(0, 'shell_call_command.done', { command, command_index }),
    ])
    const begun = added(0, { ...item, status: 'in_progress', action: { ...action, commands: [] } })
    expect(callsOf(item, begun, ...written)).toEqual([
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

  test('what a shell of the provider prints is no word of the model', () => {
    const delta = { stdout: 'total 0\n' }
    const printed = [1, 2, 3].map(() => of(0, 'shell_call_output_content.delta', { command_index: 0, delta }))
    const end = of(0, 'shell_call_output_content.done', { command_index: 0, output: [] })
    expect(hear([...printed, end, completed()]).events.map(({ type }) => type)).toEqual(['done'])
  })

  test('one that is incomplete is not closed', () => {
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
  ])('$type is told as begun, and then whole', (item, told) => {
    const begun = {
      id: item.id,
      type: item.type,
      status: 'in_progress',
      ...('name' in item && { name: item.name }),
    }
    const { events } = hear([
      added(0, begun),
      of(0, `${item.type}.in_progress`, {}),
      of(0, `${item.type}.completed`, {}),
      finished(0, item),
      finished(1, message([words('Done.')])),
      completed(),
    ])
    const { name } = told
    expect(events.slice(0, -2)).toEqual([
      { type: 'provider-tool', callId: item.id, name },
      { type: 'provider-tool', callId: item.id, ...told, opaque: { provider: 'acme', data: item } },
    ])
    // There is nothing to run here.
    expect(events.at(-1)).toMatchObject({ type: 'done', finish: 'stop' })
  })

  test('is told whole once', () => {
    const item = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } }
    const { events } = hear([added(0, item), finished(0, item), finished(0, item), completed()])
    expect(events.map(({ type }) => type)).toEqual(['provider-tool', 'provider-tool', 'done'])
  })

  test('that failed says so', () => {
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
    const told = { isError: true, output: error }
    expect(hear([finished(0, item), completed()]).events[1]).toMatchObject(told)
    expect(hear([finished(0, { ...item, status: 'completed' }), completed()]).events[1]).toMatchObject(told)
    const silent = { id: 'ws_1', type: 'web_search_call', status: 'failed' }
    expect(hear([finished(0, silent), completed()]).events[1]).toMatchObject({ isError: true, output: null })
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
    expect(hear([delta(0, 'Hi'), { type: 'response.incomplete', response }]).events.at(-1)).toEqual(done)
    // Some servers have one event for all ends.
    expect(hear([delta(0, 'Hi'), { type: 'response.completed', response }]).events.at(-1)).toEqual(done)
  })

  test('an end that says nothing of itself is one all the same', () => {
    expect(hear([delta(0, 'Hi'), { type: 'response.completed' }])).toMatchObject({
      over: true,
      finish: 'stop',
    })
    expect(hear([delta(0, 'Hi'), { type: 'response.incomplete' }])).toMatchObject({
      over: true,
      finish: 'other',
    })
    expect(
      hear([{ type: 'response.failed', response: { status: 'failed', error: null } }]).error,
    ).toMatchObject({
      code: 'llm_error',
      message: 'acme failed',
    })
  })

  test('a stream that stops before is not over', () => {
    expect(hear([created, delta(0, 'Hi')])).toMatchObject({ over: false, finish: undefined })
    expect(hear([created, delta(0, 'Hi'), '[DONE]'])).toMatchObject({ over: false })
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
  ])('%s is thrown after what was said before', (_, frame, code) => {
    const { text, error, over } = hear([created, delta(0, 'Hi'), frame, completed()])
    expect({ text, over }).toEqual({ text: 'Hi', over: false })
    expect(error).toMatchObject({ code, message: expect.stringContaining('Slow down') })
  })

  test('everything may be in response.completed alone', () => {
    const output = [
      { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      message([words('Let me look.')]),
      functionCall(args),
    ]
    expect(hear([created, completed({ output })])).toMatchObject({
      reasoning: 'Hm.',
      text: 'Let me look.',
      calls: [rome],
      finish: 'tool-calls',
    })
  })

  test('and what was cut off in response.incomplete alone', () => {
    const output = [message([words('Let me')]), functionCall('{"ci', { status: 'incomplete' })]
    const response = { output, incomplete_details: { reason: 'max_output_tokens' } }
    expect(hear([{ type: 'response.incomplete', response }])).toMatchObject({
      text: 'Let me',
      calls: [],
      finish: 'length',
    })
  })
})

describe('odd wires', () => {
  test('events, items and parts that are not known are read over', () => {
    const frames = [
      created,
      { type: 'response.queued', response: {} },
      { type: 'response.moon_phase.delta', output_index: 0, delta: 'x' },
      added(0, { id: 'm', type: 'moon_phase' }),
      finished(0, { id: 'm', type: 'moon_phase' }),
      added(1, null as never),
      { type: 'codex.rate_limits' },
      'null',
      '',
      finished(2, message([{ type: 'moon' }, words('Hi')])),
      completed(),
    ]
    expect(hear(frames)).toMatchObject({ text: 'Hi', over: true, error: undefined })
  })

  test('where the data has no type the name of the event is it', () => {
    const reader = responsesReader([], { provider: 'acme' })
    reader.read('{"type":"response.moon"}', 'response.completed')
    expect(reader.over).toBe(false)
    reader.read('{"response":{}}', 'response.completed')
    expect(reader.over).toBe(true)
  })

  test('an event that comes twice is told once', () => {
    const twice = (frame: object, sequence_number: number) => [
      { ...frame, sequence_number },
      { ...frame, sequence_number },
    ]
    const frames = [
      ...twice(added(0, functionCall()), 0),
      ...twice(argument(0, '{"city":'), 1),
      ...twice(argument(0, '"Rome"}'), 2),
      ...twice(finished(0, functionCall(args)), 3),
      completed(),
    ]
    const { calls, events } = hear(frames)
    expect(calls).toEqual([rome])
    expect(events.filter(({ type }) => type === 'tool-input')).toHaveLength(2)
  })

  test('equal pieces one after the other are two, numbered or not', () => {
    expect(hear([delta(0, 'ha'), delta(0, 'ha'), completed()]).text).toBe('haha')
    const plain = JSON.stringify(delta(0, 'ha'))
    expect(hear([plain, plain, completed()]).text).toBe('haha')
  })

  test('numbers that never change say nothing', () => {
    const stuck = (frame: object) => ({ ...frame, sequence_number: 0 })
    expect(hear([delta(0, 'a'), delta(0, 'b'), completed()].map(stuck))).toMatchObject({
      text: 'ab',
      over: true,
    })
  })

  test('no delta that is told is empty', () => {
    const { events } = hear([
      delta(0, ''),
      { ...delta(0, ''), delta: null },
      of(1, 'reasoning_summary_text.delta', { summary_index: 0, delta: '' }),
      added(2, functionCall()),
      argument(2, ''),
      { ...argument(2, ''), delta: null },
      completed(),
    ])
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'done'])
  })

  test('events that were swapped are an error, before anything wrong is told', () => {
    const first = { ...delta(0, 'Good '), sequence_number: 1 }
    const second = { ...delta(0, 'morning.'), sequence_number: 2 }
    expect(hear([created, second, first]).error).toMatchObject({ code: 'stream_error', retryable: true })
  })

  test('a Chat stream is named for what it is', () => {
    expect(hear([{ object: 'chat.completion.chunk', choices: [] }]).error).toMatchObject({
      code: 'llm_error',
      message: expect.stringContaining('openaiChat()'),
    })
  })
})

describe('events that are alike', () => {
  const numbered = (frames: readonly object[]) =>
    frames.map((frame, sequence_number) => ({
      ...frame,
      sequence_number,
      obfuscation: `x${sequence_number}`,
    }))

  test('are told each, in the item they belong to', () => {
    const { events, calls } = hear([
      ...numbered([
        created,
        added(0, message()),
        ...['a', 'a', '"\n', 'b'].map((text) => delta(0, text)),
        finished(0, message([words('aa"\nb')])),
        added(1, functionCall()),
        ...['{"city"', ':"Ro', 'me', '"}'].map((text) => argument(1, text)),
        finished(1, functionCall(args)),
        completed(),
      ]),
    ])
    expect(calls).toEqual([rome])
    const told = events.flatMap((event) =>
      'text' in event ? [event.text] : 'delta' in event ? [event.delta] : [],
    )
    expect(told).toEqual(['a', 'a', '"\n', 'b', '{"city"', ':"Ro', 'me', '"}'])
  })

  test('to the letter, with their number, are one', () => {
    const [first = {}, second = {}, third = {}, fourth = {}] = numbered([
      added(0, message()),
      delta(0, 'a'),
      delta(0, 'b'),
      delta(0, 'c'),
    ])
    expect(hear([first, second, second, third, third, third, fourth, completed()]).text).toBe('abc')
  })

  test('in the wrong order are not read', () => {
    const [first = {}, second = {}, third = {}, fourth = {}] = numbered([
      added(0, message()),
      delta(0, 'a'),
      delta(0, 'b'),
      delta(0, 'c'),
    ])
    const { text, error } = hear([first, second, third, fourth, third])
    expect(text).toBe('abc')
    expect(error).toMatchObject({ code: 'stream_error' })
  })
})
