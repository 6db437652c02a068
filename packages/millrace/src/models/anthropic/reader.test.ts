import { describe, expect, test } from 'vitest'
import { foldMessage, noUsage } from '../../protocol/index.ts'
import { begun, called, closed, delta, ended, hear, said, started } from './anthropic.test-kit.ts'
import { anthropicReader } from './reader.ts'

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }
const opaque = (data: object) => ({ provider: 'anthropic', data })

describe('text', () => {
  test('is told as it comes', () => {
    const { events } = hear([
      started({
        input_tokens: 10,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 2,
        output_tokens: 1,
      }),
      begun(0, { type: 'text', text: '' }),
      { type: 'ping' },
      delta(0, 'text_delta', { text: 'Good ' }),
      delta(0, 'text_delta', { text: 'morning.' }),
      closed(0),
      ...ended('end_turn'),
    ])
    expect(events).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'morning.' },
      {
        type: 'done',
        finish: 'stop',
        usage: { inputTokens: 16, outputTokens: 9, cacheReadTokens: 4, cacheWriteTokens: 2 },
        metadata: { id: 'msg_1', model: 'claude-1' },
      },
    ])
  })

  test('may stand in the start of its block already', () => {
    expect(
      hear([started(), begun(0, { type: 'text', text: 'Hi' }), closed(0), ...ended('end_turn')]).text,
    ).toBe('Hi')
  })

  test('of blocks with citations goes back block by block', () => {
    const citation = {
      type: 'char_location',
      cited_text: 'cats',
      document_index: 0,
      start_char_index: 0,
      end_char_index: 4,
    }
    const other = { ...citation, cited_text: 'dogs' }
    const { events } = hear([
      started(),
      ...said(0, 'We have '),
      begun(1, { type: 'text', text: '', citations: [] }),
      delta(1, 'text_delta', { text: 'cats' }),
      delta(1, 'citations_delta', { citation }),
      delta(1, 'citations_delta', { citation: other }),
      closed(1),
      ...said(2, ' and '),
      ...said(3, 'more.'),
      ...ended('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'text', text: 'We have ' },
      { type: 'text', text: 'cats', opaque: opaque({ citations: [citation, other] }) },
      { type: 'text', text: ' and ' },
      { type: 'text', text: 'more.' },
    ])
  })
})

test('citations may stand in the start of their block already', () => {
  const citation = { type: 'page_location', cited_text: 'cats', document_index: 0 }
  const { events } = hear([
    started(),
    begun(0, { type: 'text', text: 'cats', citations: [citation] }),
    closed(0),
    ...ended('end_turn'),
  ])
  expect(foldMessage(events)?.content).toEqual([
    { type: 'text', text: 'cats', opaque: opaque({ citations: [citation] }) },
  ])
})

describe('thinking', () => {
  test('has its signature in a delta of its own', () => {
    const { events } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: 'Let me ' }),
      delta(0, 'thinking_delta', { thinking: 'think.' }),
      delta(0, 'signature_delta', { signature: 'EqQB' }),
      closed(0),
      ...said(1, 'Yes.'),
      ...ended('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Let me think.', opaque: opaque({ type: 'thinking', signature: 'EqQB' }) },
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('that is not shown is kept by its signature', () => {
    const { events, reasoning } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: '', signature: 'EqQB' }),
      closed(0),
      ...ended('end_turn'),
    ])
    expect(reasoning).toBe('')
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: '', opaque: opaque({ type: 'thinking', signature: 'EqQB' }) },
    ])
  })

  test('without a signature is told, and marked as nothing to give back', () => {
    const { events } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: 'Hm.' }),
      closed(0),
      ...ended('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([{ type: 'reasoning', text: 'Hm.' }])
  })

  test('that is redacted is kept as it is, apart from what stands before it', () => {
    const { events } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: 'Hm.', signature: 's' }),
      closed(0),
      begun(1, { type: 'redacted_thinking', data: 'EmwK' }),
      closed(1),
      ...ended('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Hm.', opaque: opaque({ type: 'thinking', signature: 's' }) },
      { type: 'reasoning', text: '', opaque: opaque({ type: 'redacted_thinking', data: 'EmwK' }) },
    ])
  })
})

describe('calls', () => {
  test('are closed by the end of their block', () => {
    const { events } = hear([
      started(),
      ...called(0, 'a', 'weather', '', '{"city":', '"Rome"}'),
      ...called(1, 'b', 'time', '{"zone":"UTC"}'),
      ...ended('tool_use'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'weather' },
      { type: 'tool-input', callId: 'a', delta: '{"city":' },
      { type: 'tool-input', callId: 'a', delta: '"Rome"}' },
      { type: 'tool-call', ...rome },
      { type: 'tool-input-start', callId: 'b', name: 'time' },
      { type: 'tool-input', callId: 'b', delta: '{"zone":"UTC"}' },
      { type: 'tool-call', callId: 'b', name: 'time', input: { zone: 'UTC' } },
    ])
    expect(events.at(-1)).toMatchObject({ finish: 'tool-calls' })
  })

  test('may have their input in the start of the block', () => {
    const block = { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Rome' } }
    expect(hear([started(), begun(0, block), closed(0), ...ended('tool_use')]).calls).toEqual([rome])
  })

  test('with no input at all have an empty one', () => {
    const none = { callId: 'a', name: 'time', input: {} }
    expect(hear([started(), ...called(0, 'a', 'time'), ...ended('tool_use')]).calls).toEqual([none])
    expect(hear([started(), ...called(0, 'a', 'time', '', ''), ...ended('tool_use')]).calls).toEqual([none])
    expect(hear([started(), ...called(0, 'a', 'time', '{}'), ...ended('tool_use')]).calls).toEqual([none])
  })

  test.each(['max_tokens', 'model_context_window_exceeded'])(
    'cut off by %s before their first character are none',
    (reason) => {
      expect(hear([started(), ...called(0, 'a', 'time', ' '), ...ended(reason)]).calls).toEqual([])
      const { calls, finish } = hear([started(), ...called(0, 'a', 'time'), ...ended(reason)])
      expect({ calls, finish }).toEqual({ calls: [], finish: 'length' })
    },
  )

  test('with no input, behind which another block begins, were not cut off', () => {
    const frames = [started(), ...called(0, 'a', 'time'), ...called(1, 'b', 'time'), ...ended('max_tokens')]
    expect(hear(frames).calls).toEqual([{ callId: 'a', name: 'time', input: {} }])
  })

  test('cut off in the middle have a problem, and will not run', () => {
    const { events } = hear([started(), ...called(0, 'a', 'weather', '{"city":"Ro'), ...ended('max_tokens')])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      input: {},
      raw: '{"city":"Ro',
      problem: expect.stringContaining('not valid JSON'),
    })
  })

  test('whose block has no end are not closed', () => {
    const frames = called(0, 'a', 'weather', '{"city":"Rome"}').slice(0, -1)
    expect(hear([started(), ...frames, ...ended('end_turn')]).calls).toEqual([])
  })

  test('remember who made them', () => {
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' }
    const block = { type: 'tool_use', id: 'a', name: 'time', input: {}, caller }
    const { events } = hear([started(), begun(0, block), closed(0), ...ended('tool_use')])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({ opaque: opaque({ caller }) })
  })
})

describe('a tool that the provider runs', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const search = [
    begun(0, use),
    delta(0, 'input_json_delta', { partial_json: '{"query":' }),
    delta(0, 'input_json_delta', { partial_json: '"cats"}' }),
    closed(0),
  ]

  test('is told as begun, with its input, and with its result', () => {
    const result = {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [
        { type: 'web_search_result', url: 'https://cats.example', title: 'Cats', encrypted_content: 'Eo' },
      ],
    }
    const { events, finish } = hear([started(), ...search, begun(1, result), closed(1), ...ended('end_turn')])
    const told = { type: 'provider-tool', callId: 'srvtoolu_1', name: 'web_search' }
    expect(events.slice(0, -1)).toEqual([
      told,
      { ...told, input: { query: 'cats' }, opaque: opaque({ ...use, input: { query: 'cats' } }) },
      { ...told, output: result.content, opaque: opaque(result) },
    ])
    expect(finish).toBe('stop')
  })

  test('and worked does not say otherwise', () => {
    const result = {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_2',
      content: { type: 'bash_code_execution_result', stdout: '2', stderr: '', return_code: 0, content: [] },
    }
    const bash = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'bash_code_execution', input: {} }
    const { events } = hear([started(), ...search, begun(1, bash), closed(1), begun(2, result), closed(2)])
    expect(events.at(-1)).toEqual({
      type: 'provider-tool',
      callId: 'srvtoolu_2',
      name: 'bash_code_execution',
      output: result.content,
      opaque: opaque(result),
    })
  })

  test('and failed says so', () => {
    const failed = {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    }
    expect(hear([started(), ...search, begun(1, failed), closed(1)]).events.at(-1)).toMatchObject({
      isError: true,
      output: failed.content,
    })
  })

  test('on a server of MCP is one of them, and its result has its name', () => {
    const echo = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'echo', server_name: 'crm', input: { a: 1 } }
    const result = {
      type: 'mcp_tool_result',
      tool_use_id: 'mcptoolu_1',
      is_error: true,
      content: [{ type: 'text', text: 'no' }],
    }
    const { events } = hear([started(), begun(0, echo), closed(0), begun(1, result), closed(1)])
    expect(events).toEqual([
      { type: 'provider-tool', callId: 'mcptoolu_1', name: 'echo' },
      { type: 'provider-tool', callId: 'mcptoolu_1', name: 'echo', input: { a: 1 }, opaque: opaque(echo) },
      {
        type: 'provider-tool',
        callId: 'mcptoolu_1',
        name: 'echo',
        output: result.content,
        isError: true,
        opaque: opaque(result),
      },
    ])
  })
})

describe('ends', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'tool-calls'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'refusal'],
  ])('%s is %s', (reason, finish) => {
    expect(hear([started(), ...said(0, 'Hi'), ...ended(reason)])).toMatchObject({ finish, over: true })
  })

  test('a reason that is not known is other, and kept', () => {
    expect(hear([started(), ...ended('moon_phase')]).events.at(-1)).toMatchObject({
      finish: 'other',
      metadata: { finishReason: 'moon_phase' },
    })
    expect(hear([started(), ...ended(null)])).toMatchObject({ finish: 'other', over: true })
  })

  test('a stop sequence and the details of a refusal are kept', () => {
    const details = { type: 'refusal', category: 'cyber', explanation: 'No.' }
    expect(hear([started(), ...ended('refusal', { stop_details: details })]).events.at(-1)).toMatchObject({
      finish: 'refusal',
      metadata: { stopDetails: details },
    })
    expect(
      hear([started(), ...ended('stop_sequence', { stop_sequence: 'END' })]).events.at(-1),
    ).toMatchObject({
      metadata: { stopSequence: 'END' },
    })
  })

  test('without message_stop it is not over', () => {
    const frames = [started(), ...said(0, 'Hi'), ...ended('end_turn').slice(0, 1)]
    expect(hear(frames)).toMatchObject({ text: 'Hi', over: false, finish: undefined })
  })

  test.each([
    ['overloaded_error', 'Overloaded', 'overloaded', true],
    ['api_error', 'Internal server error', 'llm_error', true],
    ['rate_limit_error', 'Too many', 'rate_limit', true],
    ['invalid_request_error', 'No such thing', 'llm_error', false],
    ['authentication_error', 'invalid x-api-key', 'auth', false],
  ])('%s in the middle is thrown after what was said before', (type, message, code, retryable) => {
    const { text, error, over } = hear([
      started(),
      ...said(0, 'Hi'),
      { type: 'error', error: { type, message } },
    ])
    expect({ text, over }).toEqual({ text: 'Hi', over: false })
    expect(error).toMatchObject({ code, retryable, message: expect.stringContaining(message) })
  })
})

describe('a pause', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }

  test('gives what must be sent to go on, and no end', () => {
    const { events, over, paused } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: 'Hm.' }),
      delta(0, 'signature_delta', { signature: 's' }),
      closed(0),
      begun(1, { type: 'redacted_thinking', data: 'EmwK' }),
      closed(1),
      ...said(2, '\n'),
      ...said(3, 'Let me look.'),
      begun(4, use),
      delta(4, 'input_json_delta', { partial_json: '{"query":"cats"}' }),
      closed(4),
      begun(5, { type: 'text', text: 'half' }),
      ...ended('pause_turn'),
    ])
    expect(over).toBe(true)
    expect(events.some(({ type }) => type === 'done')).toBe(false)
    expect(paused).toEqual({
      // Neither what has no words nor what was not closed.
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'redacted_thinking', data: 'EmwK' },
        { type: 'text', text: 'Let me look.' },
        { ...use, input: { query: 'cats' } },
      ],
      usage: { inputTokens: 10, outputTokens: 9 },
    })
  })

  test('ends the text before it, which is a block of its own', () => {
    expect(hear([started(), ...said(0, 'Hi'), ...ended('pause_turn')]).events.at(-1)).toEqual({
      type: 'part-end',
      part: 'text',
    })
  })

  test('adds what was spent before it to what is spent after', () => {
    const spent = { ...noUsage, inputTokens: 100, outputTokens: 20 }
    const total = { ...noUsage, inputTokens: 110, outputTokens: 29 }
    expect(hear([started(), ...ended('end_turn')], spent).usage).toEqual(total)
    // Also if nothing is said of that.
    expect(hear([started({}), ...ended('end_turn', {}, {})], spent).usage).toEqual(spent)
  })
})

describe('usage', () => {
  test('is cumulative: what the end says replaces what the start said, the rest stays', () => {
    const end = { output_tokens: 30, input_tokens: 12, output_tokens_details: { thinking_tokens: 20 } }
    const { usage } = hear([
      started({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 }),
      ...ended('end_turn', {}, end),
    ])
    expect(usage).toEqual({ inputTokens: 17, outputTokens: 30, reasoningTokens: 20, cacheReadTokens: 5 })
  })

  test('that is null says nothing', () => {
    const end = { output_tokens: 30, input_tokens: null, cache_read_input_tokens: null }
    expect(hear([started(), ...ended('end_turn', {}, end)]).usage).toEqual({
      inputTokens: 10,
      outputTokens: 30,
    })
  })

  test('is not invented where it is not reported', () => {
    expect(hear([started({}), ...ended('end_turn', {}, {})]).usage).toBeUndefined()
    expect(hear([started({}), ...ended('end_turn')]).usage).toEqual({ outputTokens: 9 })
  })
})

describe('odd wires', () => {
  test('events, blocks and deltas that are not known are read over', () => {
    const frames = [
      'null',
      '',
      { type: 'vertex_event', nonce: 'x' },
      started(),
      { type: 'ping' },
      begun(0, { type: 'moon_phase', moon: 'full' }),
      delta(0, 'text_delta', { text: 'not text' }),
      delta(0, 'moon_delta', { moon: 'half' }),
      closed(0),
      begun(1, { type: 'text', text: '' }),
      delta(1, 'moon_delta', { moon: 'half' }),
      delta(1, 'thinking_delta', { thinking: 'not text' }),
      delta(1, 'text_delta', { text: 'Hi' }),
      closed(1),
      { type: 'moon_rise' },
      { type: 'message_delta' },
      ...ended('end_turn'),
    ]
    expect(hear(frames)).toMatchObject({ text: 'Hi', reasoning: '', over: true, error: undefined })
  })

  test('no delta that is told is empty', () => {
    const { events } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: '' }),
      begun(1, { type: 'text', text: '' }),
      delta(1, 'text_delta', { text: '' }),
      ...ended('end_turn'),
    ])
    expect(events.map(({ type }) => type)).toEqual(['done'])
  })

  test('a start that comes twice changes nothing', () => {
    const frames = [started(), started(), ...said(0, 'Hi'), ...ended('end_turn')]
    expect(hear(frames)).toMatchObject({ text: 'Hi', usage: { inputTokens: 10, outputTokens: 9 } })
  })

  test('nor does a block that is begun or ended twice', () => {
    const [open, piece, close] = called(0, 'a', 'weather', '{"city":"Rome"}')
    const { calls, events } = hear([started(), open, open, piece, close, close, ...ended('tool_use')])
    expect(calls).toEqual([rome])
    expect(events.filter(({ type }) => type === 'tool-input-start')).toHaveLength(1)
  })

  test('a piece of a block that was not begun is an error', () => {
    expect(hear([started(), delta(0, 'text_delta', { text: 'Hi' })]).error).toMatchObject({
      code: 'stream_error',
      retryable: true,
    })
  })

  test('what is no JSON is an error', () => {
    expect(hear([started(), '{"type":']).error).toMatchObject({ code: 'stream_error' })
  })

  test('where the data has no type the name of the event is it', () => {
    const reader = anthropicReader([], { provider: 'acme' })
    reader.read('{"type":"moon"}', 'message_stop')
    expect(reader.over).toBe(false)
    reader.read('{}', 'message_stop')
    expect(reader.over).toBe(true)
  })
})

describe('events that are alike', () => {
  const text = (index: number, words: string) => delta(index, 'text_delta', { text: words })

  test('are told each, in the block they belong to', () => {
    const piece = (index: number, json: string) => delta(index, 'input_json_delta', { partial_json: json })
    const { events, calls } = hear([
      started(),
      begun(0, { type: 'thinking', thinking: '', signature: '' }),
      ...['x', 'y', 'y'].map((thinking) => delta(0, 'thinking_delta', { thinking })),
      closed(0),
      begun(1, { type: 'text', text: '' }),
      ...['a', 'a', '"\n', ''].map((words) => text(1, words)),
      closed(1),
      begun(2, { type: 'tool_use', id: 'a', name: 'weather', input: {} }),
      ...['{"city"', ':"Ro', 'me', '"}'].map((json) => piece(2, json)),
      closed(2),
      ...ended('tool_use'),
    ])
    expect(calls).toEqual([rome])
    const told = events.flatMap((event) =>
      'text' in event ? [event.text] : 'delta' in event ? [event.delta] : [],
    )
    expect(told).toEqual(['x', 'y', 'y', 'a', 'a', '"\n', '{"city"', ':"Ro', 'me', '"}'])
  })

  test('after the end of their block are out of order', () => {
    const { error, text: words } = hear([
      started(),
      begun(0, { type: 'text', text: '' }),
      ...['a', 'b', 'c'].map((one) => text(0, one)),
      closed(0),
      text(0, 'd'),
    ])
    expect(words).toBe('abc')
    expect(error).toMatchObject({ code: 'stream_error' })
  })
})
