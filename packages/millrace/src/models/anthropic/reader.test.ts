import { describe, expect, test } from 'vitest'
import { foldMessage, noUsage } from '../../protocol/index.ts'
import {
  blockStart,
  blockStop,
  delta,
  messageEnd,
  messageStart,
  readFrames,
  textBlock,
  toolUse,
} from './anthropic.test-kit.ts'
import { anthropicReader } from './reader.ts'

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }
const opaque = (data: object) => ({ provider: 'anthropic', data })

describe('text', () => {
  test('is emitted as it arrives', () => {
    const { events } = readFrames([
      messageStart({
        input_tokens: 10,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 2,
        output_tokens: 1,
      }),
      blockStart(0, { type: 'text', text: '' }),
      { type: 'ping' },
      delta(0, 'text_delta', { text: 'Good ' }),
      delta(0, 'text_delta', { text: 'morning.' }),
      blockStop(0),
      ...messageEnd('end_turn'),
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

  test('may be in the start of its block', () => {
    expect(
      readFrames([
        messageStart(),
        blockStart(0, { type: 'text', text: 'Hi' }),
        blockStop(0),
        ...messageEnd('end_turn'),
      ]).text,
    ).toBe('Hi')
  })

  test('of blocks with citations is kept block by block', () => {
    const citation = {
      type: 'char_location',
      cited_text: 'cats',
      document_index: 0,
      start_char_index: 0,
      end_char_index: 4,
    }
    const other = { ...citation, cited_text: 'dogs' }
    const { events } = readFrames([
      messageStart(),
      ...textBlock(0, 'We have '),
      blockStart(1, { type: 'text', text: '', citations: [] }),
      delta(1, 'text_delta', { text: 'cats' }),
      delta(1, 'citations_delta', { citation }),
      delta(1, 'citations_delta', { citation: other }),
      blockStop(1),
      ...textBlock(2, ' and '),
      ...textBlock(3, 'more.'),
      ...messageEnd('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'text', text: 'We have ' },
      { type: 'text', text: 'cats', opaque: opaque({ citations: [citation, other] }) },
      { type: 'text', text: ' and ' },
      { type: 'text', text: 'more.' },
    ])
  })
})

test('citations may be in the start of their block', () => {
  const citation = { type: 'page_location', cited_text: 'cats', document_index: 0 }
  const { events } = readFrames([
    messageStart(),
    blockStart(0, { type: 'text', text: 'cats', citations: [citation] }),
    blockStop(0),
    ...messageEnd('end_turn'),
  ])
  expect(foldMessage(events)?.content).toEqual([
    { type: 'text', text: 'cats', opaque: opaque({ citations: [citation] }) },
  ])
})

describe('thinking', () => {
  test('has its signature in a separate delta', () => {
    const { events } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: 'Let me ' }),
      delta(0, 'thinking_delta', { thinking: 'think.' }),
      delta(0, 'signature_delta', { signature: 'EqQB' }),
      blockStop(0),
      ...textBlock(1, 'Yes.'),
      ...messageEnd('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Let me think.', opaque: opaque({ type: 'thinking', signature: 'EqQB' }) },
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('without text keeps its signature', () => {
    const { events, reasoning } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: 'EqQB' }),
      blockStop(0),
      ...messageEnd('end_turn'),
    ])
    expect(reasoning).toBe('')
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: '', opaque: opaque({ type: 'thinking', signature: 'EqQB' }) },
    ])
  })

  test('without a signature is emitted without opaque data', () => {
    const { events } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: 'Hm.' }),
      blockStop(0),
      ...messageEnd('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([{ type: 'reasoning', text: 'Hm.' }])
  })

  test('that is redacted is kept as a separate part', () => {
    const { events } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: 'Hm.', signature: 's' }),
      blockStop(0),
      blockStart(1, { type: 'redacted_thinking', data: 'EmwK' }),
      blockStop(1),
      ...messageEnd('end_turn'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Hm.', opaque: opaque({ type: 'thinking', signature: 's' }) },
      { type: 'reasoning', text: '', opaque: opaque({ type: 'redacted_thinking', data: 'EmwK' }) },
    ])
  })
})

describe('calls', () => {
  test('are closed by the end of their block', () => {
    const { events } = readFrames([
      messageStart(),
      ...toolUse(0, 'a', 'weather', '', '{"city":', '"Rome"}'),
      ...toolUse(1, 'b', 'time', '{"zone":"UTC"}'),
      ...messageEnd('tool_use'),
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
    expect(
      readFrames([messageStart(), blockStart(0, block), blockStop(0), ...messageEnd('tool_use')]).calls,
    ).toEqual([rome])
  })

  test('without input get an empty object', () => {
    const none = { callId: 'a', name: 'time', input: {} }
    expect(readFrames([messageStart(), ...toolUse(0, 'a', 'time'), ...messageEnd('tool_use')]).calls).toEqual(
      [none],
    )
    expect(
      readFrames([messageStart(), ...toolUse(0, 'a', 'time', '', ''), ...messageEnd('tool_use')]).calls,
    ).toEqual([none])
    expect(
      readFrames([messageStart(), ...toolUse(0, 'a', 'time', '{}'), ...messageEnd('tool_use')]).calls,
    ).toEqual([none])
  })

  test.each(['max_tokens', 'model_context_window_exceeded'])(
    'cut off by %s before their first character are not closed',
    (reason) => {
      expect(
        readFrames([messageStart(), ...toolUse(0, 'a', 'time', ' '), ...messageEnd(reason)]).calls,
      ).toEqual([])
      const { calls, finish } = readFrames([
        messageStart(),
        ...toolUse(0, 'a', 'time'),
        ...messageEnd(reason),
      ])
      expect({ calls, finish }).toEqual({ calls: [], finish: 'length' })
    },
  )

  test('without input are complete if another block follows', () => {
    const frames = [
      messageStart(),
      ...toolUse(0, 'a', 'time'),
      ...toolUse(1, 'b', 'time'),
      ...messageEnd('max_tokens'),
    ]
    expect(readFrames(frames).calls).toEqual([{ callId: 'a', name: 'time', input: {} }])
  })

  test('cut off in the middle have a problem and will not run', () => {
    const { events } = readFrames([
      messageStart(),
      ...toolUse(0, 'a', 'weather', '{"city":"Ro'),
      ...messageEnd('max_tokens'),
    ])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      input: {},
      raw: '{"city":"Ro',
      problem: expect.stringContaining('not valid JSON'),
    })
  })

  test('without an end of their block are not closed', () => {
    const frames = toolUse(0, 'a', 'weather', '{"city":"Rome"}').slice(0, -1)
    expect(readFrames([messageStart(), ...frames, ...messageEnd('end_turn')]).calls).toEqual([])
  })

  test('keep their caller', () => {
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' }
    const block = { type: 'tool_use', id: 'a', name: 'time', input: {}, caller }
    const { events } = readFrames([
      messageStart(),
      blockStart(0, block),
      blockStop(0),
      ...messageEnd('tool_use'),
    ])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({ opaque: opaque({ caller }) })
  })
})

describe('a tool that the provider runs', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const search = [
    blockStart(0, use),
    delta(0, 'input_json_delta', { partial_json: '{"query":' }),
    delta(0, 'input_json_delta', { partial_json: '"cats"}' }),
    blockStop(0),
  ]

  test('is emitted at its start, with its input, and with its result', () => {
    const result = {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [
        { type: 'web_search_result', url: 'https://cats.example', title: 'Cats', encrypted_content: 'Eo' },
      ],
    }
    const { events, finish } = readFrames([
      messageStart(),
      ...search,
      blockStart(1, result),
      blockStop(1),
      ...messageEnd('end_turn'),
    ])
    const event = { type: 'provider-tool', callId: 'srvtoolu_1', name: 'web_search' }
    expect(events.slice(0, -1)).toEqual([
      event,
      { ...event, input: { query: 'cats' }, opaque: opaque({ ...use, input: { query: 'cats' } }) },
      { ...event, output: result.content, opaque: opaque(result) },
    ])
    expect(finish).toBe('stop')
  })

  test('that succeeded is not marked as an error', () => {
    const result = {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_2',
      content: { type: 'bash_code_execution_result', stdout: '2', stderr: '', return_code: 0, content: [] },
    }
    const bash = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'bash_code_execution', input: {} }
    const { events } = readFrames([
      messageStart(),
      ...search,
      blockStart(1, bash),
      blockStop(1),
      blockStart(2, result),
      blockStop(2),
    ])
    expect(events.at(-1)).toEqual({
      type: 'provider-tool',
      callId: 'srvtoolu_2',
      name: 'bash_code_execution',
      output: result.content,
      opaque: opaque(result),
    })
  })

  test('that failed is marked as an error', () => {
    const failed = {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    }
    expect(
      readFrames([messageStart(), ...search, blockStart(1, failed), blockStop(1)]).events.at(-1),
    ).toMatchObject({
      isError: true,
      output: failed.content,
    })
  })

  test('may be on an MCP server, and its result gets its name', () => {
    const echo = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'echo', server_name: 'crm', input: { a: 1 } }
    const result = {
      type: 'mcp_tool_result',
      tool_use_id: 'mcptoolu_1',
      is_error: true,
      content: [{ type: 'text', text: 'no' }],
    }
    const { events } = readFrames([
      messageStart(),
      blockStart(0, echo),
      blockStop(0),
      blockStart(1, result),
      blockStop(1),
    ])
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
    expect(readFrames([messageStart(), ...textBlock(0, 'Hi'), ...messageEnd(reason)])).toMatchObject({
      finish,
      ended: true,
    })
  })

  test('an unknown reason becomes other and is kept in the metadata', () => {
    expect(readFrames([messageStart(), ...messageEnd('moon_phase')]).events.at(-1)).toMatchObject({
      finish: 'other',
      metadata: { finishReason: 'moon_phase' },
    })
    expect(readFrames([messageStart(), ...messageEnd(null)])).toMatchObject({ finish: 'other', ended: true })
  })

  test('a stop sequence and refusal details are kept', () => {
    const details = { type: 'refusal', category: 'cyber', explanation: 'No.' }
    expect(
      readFrames([messageStart(), ...messageEnd('refusal', { stop_details: details })]).events.at(-1),
    ).toMatchObject({
      finish: 'refusal',
      metadata: { stopDetails: details },
    })
    expect(
      readFrames([messageStart(), ...messageEnd('stop_sequence', { stop_sequence: 'END' })]).events.at(-1),
    ).toMatchObject({
      metadata: { stopSequence: 'END' },
    })
  })

  test('without message_stop the answer has not ended', () => {
    const frames = [messageStart(), ...textBlock(0, 'Hi'), ...messageEnd('end_turn').slice(0, 1)]
    expect(readFrames(frames)).toMatchObject({ text: 'Hi', ended: false, finish: undefined })
  })

  test.each([
    ['overloaded_error', 'Overloaded', 'overloaded', true],
    ['api_error', 'Internal server error', 'llm_error', true],
    ['rate_limit_error', 'Too many', 'rate_limit', true],
    ['invalid_request_error', 'No such thing', 'llm_error', false],
    ['authentication_error', 'invalid x-api-key', 'auth', false],
  ])('%s mid-stream is thrown after the events before it', (type, message, code, retryable) => {
    const { text, error, ended } = readFrames([
      messageStart(),
      ...textBlock(0, 'Hi'),
      { type: 'error', error: { type, message } },
    ])
    expect({ text, ended }).toEqual({ text: 'Hi', ended: false })
    expect(error).toMatchObject({ code, retryable, message: expect.stringContaining(message) })
  })
})

describe('a pause', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }

  test('returns the content to continue with, and no done event', () => {
    const { events, ended, paused } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: 'Hm.' }),
      delta(0, 'signature_delta', { signature: 's' }),
      blockStop(0),
      blockStart(1, { type: 'redacted_thinking', data: 'EmwK' }),
      blockStop(1),
      ...textBlock(2, '\n'),
      ...textBlock(3, 'Let me look.'),
      blockStart(4, use),
      delta(4, 'input_json_delta', { partial_json: '{"query":"cats"}' }),
      blockStop(4),
      blockStart(5, { type: 'text', text: 'half' }),
      ...messageEnd('pause_turn'),
    ])
    expect(ended).toBe(true)
    expect(events.some(({ type }) => type === 'done')).toBe(false)
    expect(paused).toEqual({
      // Without blank text and open blocks.
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'redacted_thinking', data: 'EmwK' },
        { type: 'text', text: 'Let me look.' },
        { ...use, input: { query: 'cats' } },
      ],
      usage: { inputTokens: 10, outputTokens: 9 },
    })
  })

  test('ends the text block before it', () => {
    expect(
      readFrames([messageStart(), ...textBlock(0, 'Hi'), ...messageEnd('pause_turn')]).events.at(-1),
    ).toEqual({
      type: 'part-end',
      part: 'text',
    })
  })

  test('adds the usage before it to the usage after it', () => {
    const spent = { ...noUsage, inputTokens: 100, outputTokens: 20 }
    const total = { ...noUsage, inputTokens: 110, outputTokens: 29 }
    expect(readFrames([messageStart(), ...messageEnd('end_turn')], spent).usage).toEqual(total)
    // Also if the second message reports none.
    expect(readFrames([messageStart({}), ...messageEnd('end_turn', {}, {})], spent).usage).toEqual(spent)
  })
})

describe('usage', () => {
  test('is cumulative: the end replaces the numbers of the start and keeps the rest', () => {
    const end = { output_tokens: 30, input_tokens: 12, output_tokens_details: { thinking_tokens: 20 } }
    const { usage } = readFrames([
      messageStart({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 }),
      ...messageEnd('end_turn', {}, end),
    ])
    expect(usage).toEqual({ inputTokens: 17, outputTokens: 30, reasoningTokens: 20, cacheReadTokens: 5 })
  })

  test('includes cache writes for an hour and web searches, if there are any', () => {
    const start = {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 50,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
      output_tokens: 1,
    }
    const read = (searches: number) => {
      const end = { output_tokens: 30, server_tool_use: { web_search_requests: searches } }
      return readFrames([messageStart(start), ...messageEnd('end_turn', {}, end)]).usage
    }
    const counts = {
      inputTokens: 160,
      outputTokens: 30,
      cacheReadTokens: 100,
      cacheWriteTokens: 50,
      cacheWrite1hTokens: 30,
    }
    expect(read(2)).toStrictEqual({ ...counts, webSearches: 2 })
    expect(read(0)).toStrictEqual(counts)
  })

  test('that is null is ignored', () => {
    const end = { output_tokens: 30, input_tokens: null, cache_read_input_tokens: null }
    expect(readFrames([messageStart(), ...messageEnd('end_turn', {}, end)]).usage).toEqual({
      inputTokens: 10,
      outputTokens: 30,
    })
  })

  test('is omitted if it is not reported', () => {
    expect(readFrames([messageStart({}), ...messageEnd('end_turn', {}, {})]).usage).toBeUndefined()
    expect(readFrames([messageStart({}), ...messageEnd('end_turn')]).usage).toEqual({ outputTokens: 9 })
  })
})

describe('irregular streams', () => {
  test('unknown events, blocks and deltas are ignored', () => {
    const frames = [
      'null',
      '',
      { type: 'vertex_event', nonce: 'x' },
      messageStart(),
      { type: 'ping' },
      blockStart(0, { type: 'moon_phase', moon: 'full' }),
      delta(0, 'text_delta', { text: 'not text' }),
      delta(0, 'moon_delta', { moon: 'half' }),
      blockStop(0),
      blockStart(1, { type: 'text', text: '' }),
      delta(1, 'moon_delta', { moon: 'half' }),
      delta(1, 'thinking_delta', { thinking: 'not text' }),
      delta(1, 'text_delta', { text: 'Hi' }),
      blockStop(1),
      { type: 'moon_rise' },
      { type: 'message_delta' },
      ...messageEnd('end_turn'),
    ]
    expect(readFrames(frames)).toMatchObject({ text: 'Hi', reasoning: '', ended: true, error: undefined })
  })

  test('no empty deltas are emitted', () => {
    const { events } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: '' }),
      blockStart(1, { type: 'text', text: '' }),
      delta(1, 'text_delta', { text: '' }),
      ...messageEnd('end_turn'),
    ])
    expect(events.map(({ type }) => type)).toEqual(['done'])
  })

  test('a repeated message_start changes nothing', () => {
    const frames = [messageStart(), messageStart(), ...textBlock(0, 'Hi'), ...messageEnd('end_turn')]
    expect(readFrames(frames)).toMatchObject({ text: 'Hi', usage: { inputTokens: 10, outputTokens: 9 } })
  })

  test('a repeated block start or stop changes nothing', () => {
    const [open, piece, close] = toolUse(0, 'a', 'weather', '{"city":"Rome"}')
    const { calls, events } = readFrames([
      messageStart(),
      open,
      open,
      piece,
      close,
      close,
      ...messageEnd('tool_use'),
    ])
    expect(calls).toEqual([rome])
    expect(events.filter(({ type }) => type === 'tool-input-start')).toHaveLength(1)
  })

  test('a delta of a block that has not started is an error', () => {
    expect(readFrames([messageStart(), delta(0, 'text_delta', { text: 'Hi' })]).error).toMatchObject({
      code: 'stream_error',
      retryable: true,
    })
  })

  test('invalid JSON is an error', () => {
    expect(readFrames([messageStart(), '{"type":']).error).toMatchObject({ code: 'stream_error' })
  })

  test('the event name is used if the data has no type', () => {
    const reader = anthropicReader([], { provider: 'acme' })
    reader.read('{"type":"moon"}', 'message_stop')
    expect(reader.ended).toBe(false)
    reader.read('{}', 'message_stop')
    expect(reader.ended).toBe(true)
  })
})

describe('similar events', () => {
  const text = (index: number, words: string) => delta(index, 'text_delta', { text: words })

  test('are each emitted in their own block', () => {
    const piece = (index: number, json: string) => delta(index, 'input_json_delta', { partial_json: json })
    const { events, calls } = readFrames([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      ...['x', 'y', 'y'].map((thinking) => delta(0, 'thinking_delta', { thinking })),
      blockStop(0),
      blockStart(1, { type: 'text', text: '' }),
      ...['a', 'a', '"\n', ''].map((words) => text(1, words)),
      blockStop(1),
      blockStart(2, { type: 'tool_use', id: 'a', name: 'weather', input: {} }),
      ...['{"city"', ':"Ro', 'me', '"}'].map((json) => piece(2, json)),
      blockStop(2),
      ...messageEnd('tool_use'),
    ])
    expect(calls).toEqual([rome])
    const deltas = events.flatMap((event) =>
      'text' in event ? [event.text] : 'delta' in event ? [event.delta] : [],
    )
    expect(deltas).toEqual(['x', 'y', 'y', 'a', 'a', '"\n', '{"city"', ':"Ro', 'me', '"}'])
  })

  test('after the end of their block are out of order', () => {
    const { error, text: words } = readFrames([
      messageStart(),
      blockStart(0, { type: 'text', text: '' }),
      ...['a', 'b', 'c'].map((one) => text(0, one)),
      blockStop(0),
      text(0, 'd'),
    ])
    expect(words).toBe('abc')
    expect(error).toMatchObject({ code: 'stream_error' })
  })
})
