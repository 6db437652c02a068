import { describe, expect, test } from 'vitest'
import { foldMessage } from '../../protocol/index.ts'
import { callChunk, chunk, finishChunk, readChunks } from './chat.test-kit.ts'
import { chatReader } from './reader.ts'

const usage = {
  prompt_tokens: 20,
  completion_tokens: 9,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 12, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 4, accepted_prediction_tokens: 0 },
}

describe('text and its end', () => {
  test('an answer emits its deltas and one done', () => {
    const { events } = readChunks([
      chunk({ role: 'assistant', content: '', refusal: null }),
      chunk({ content: 'Good ' }),
      chunk({ content: 'morning.' }),
      finishChunk('stop'),
      { ...chunk({}), choices: [], usage },
      '[DONE]',
    ])
    expect(events).toEqual([
      { type: 'text', text: 'Good ' },
      { type: 'text', text: 'morning.' },
      {
        type: 'done',
        finish: 'stop',
        usage: { inputTokens: 20, outputTokens: 9, reasoningTokens: 4, cacheReadTokens: 12 },
        metadata: { id: 'chatcmpl-1', model: 'acme-1' },
      },
    ])
  })

  test('without [DONE] a finish reason ends the answer', () => {
    expect(readChunks([chunk({ content: 'Hi' }), finishChunk('stop')])).toMatchObject({
      ended: true,
      finish: 'stop',
    })
  })

  test('without a finish reason [DONE] ends the answer', () => {
    expect(readChunks([chunk({ content: 'Hi' }), '[DONE]'])).toMatchObject({ ended: true, finish: 'stop' })
  })

  test('with neither the answer has not ended', () => {
    expect(readChunks([chunk({ content: 'Hi' })])).toMatchObject({ ended: false, finish: undefined })
    expect(readChunks([])).toMatchObject({ ended: false })
  })

  test('other JSON values are ignored, and invalid JSON is an error', () => {
    const odd = ['', '  ', 'null', '[]', '"ping"', { type: 'ping' }, { choices: null }, { choices: [null] }]
    expect(readChunks([...odd, chunk({ content: 'Hi' }), finishChunk('stop')])).toMatchObject({
      text: 'Hi',
      ended: true,
    })
    expect(readChunks([chunk({ content: 'Hi' }), '{"choices":[{"de'])).toMatchObject({
      text: 'Hi',
      error: { code: 'stream_error', retryable: true },
    })
  })

  test('only the first of several choices is emitted', () => {
    const two = (first: string, second: string, finish: string | null) => ({
      ...chunk({}),
      choices: [
        { index: 1, delta: { content: second }, finish_reason: finish },
        { index: 0, delta: { content: first }, finish_reason: finish },
      ],
    })
    expect(readChunks([two('a', 'x', null), two('b', 'y', 'stop'), '[DONE]'])).toMatchObject({ text: 'ab' })
  })

  test('the second choice alone does not end the first', () => {
    const second = { ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }
    expect(readChunks([chunk({ content: 'a' }), second])).toMatchObject({ ended: false })
  })

  test("Azure's prompt filter and filter results are ignored", () => {
    const { text, finish } = readChunks([
      {
        choices: [],
        created: 0,
        id: '',
        model: '',
        object: '',
        prompt_filter_results: [{ prompt_index: 0 }],
      },
      chunk({ content: 'Hi' }),
      {
        choices: [{ index: 0, finish_reason: null, content_filter_results: {}, content_filter_offsets: {} }],
      },
      finishChunk('stop'),
    ])
    expect({ text, finish }).toEqual({ text: 'Hi', finish: 'stop' })
  })

  test('a whole message instead of a delta is read', () => {
    const message = {
      role: 'assistant',
      content: 'Look.',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        { id: 'b', type: 'function', function: { name: 'time', arguments: '{}' } },
      ],
    }
    expect(readChunks([{ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }])).toMatchObject({
      text: 'Look.',
      calls: [
        { callId: 'a', name: 'weather', input: { city: 'Rome' } },
        { callId: 'b', name: 'time', input: {} },
      ],
      finish: 'tool-calls',
    })
  })

  test('a Responses stream gets a specific error', () => {
    expect(readChunks([{ type: 'response.created', response: {} }]).error).toMatchObject({
      code: 'llm_error',
      message: expect.stringContaining('openai()'),
    })
  })
})

describe('finish reasons', () => {
  test.each([
    ['stop', 'stop'],
    ['eos', 'stop'],
    ['eos_token', 'stop'],
    ['STOP', 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'length'],
    ['content_filter', 'content-filter'],
    ['SAFETY', 'content-filter'],
    ['content_filter: PROHIBITED_CONTENT', 'content-filter'],
    ['sensitive', 'content-filter'],
  ])('%s is %s', (reason, finish) => {
    expect(readChunks([chunk({ content: 'Hi' }), finishChunk(reason)])).toMatchObject({ finish, ended: true })
  })

  test('an unknown reason becomes other and is kept in the metadata', () => {
    expect(readChunks([chunk({ content: 'Hi' }), finishChunk('moon_phase')]).events.at(-1)).toEqual({
      type: 'done',
      finish: 'other',
      metadata: { id: 'chatcmpl-1', model: 'acme-1', finishReason: 'moon_phase' },
    })
  })

  test.each(['tool_calls', 'function_call', 'tool_call', 'tool_use', 'stop', 'eos', 'moon_phase'])(
    'with complete calls, %s means that they should run',
    (reason) => {
      const call = callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
      expect(readChunks([call, finishChunk(reason)])).toMatchObject({
        calls: [{ name: 'weather', input: { city: 'Rome' } }],
        finish: 'tool-calls',
      })
    },
  )

  test('complete calls also run without any reason', () => {
    const call = callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
    expect(readChunks([call, '[DONE]'])).toMatchObject({ calls: [{ name: 'weather' }], finish: 'tool-calls' })
    // But not at the mere end of the connection.
    expect(readChunks([call])).toMatchObject({ calls: [], ended: false })
  })

  test.each(['error', 'network_error', 'insufficient_system_resource'])(
    '%s is a failure and closes no call',
    (reason) => {
      const call = callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
      const { error, calls, ended } = readChunks([chunk({ content: 'Hi' }), call, finishChunk(reason)])
      expect(error).toMatchObject({
        code: 'llm_error',
        retryable: true,
        message: expect.stringContaining(reason),
      })
      expect({ calls, ended }).toEqual({ calls: [], ended: false })
    },
  )
})

describe('usage', () => {
  test('is omitted if it is not reported', () => {
    expect(
      readChunks([chunk({ content: 'Hi' }, null, { usage: null }), finishChunk('stop')]).events.at(-1),
    ).toEqual({
      type: 'done',
      finish: 'stop',
      metadata: { id: 'chatcmpl-1', model: 'acme-1' },
    })
  })

  test('of the last chunk that reports it is used', () => {
    const growing = (count: number) => ({ usage: { prompt_tokens: 5, completion_tokens: count } })
    const chunks = [chunk({ content: 'a' }, null, growing(1)), chunk({ content: 'b' }, 'stop', growing(2))]
    expect(readChunks(chunks).usage).toEqual({ inputTokens: 5, outputTokens: 2 })
  })

  test('is found in x_groq, in the choice, and in every name for cache tokens', () => {
    const counts = { prompt_tokens: 5, completion_tokens: 2 }
    const expected = { inputTokens: 5, outputTokens: 2 }
    expect(readChunks([chunk({}, 'stop', { x_groq: { id: 'req_1', usage: counts } })]).usage).toEqual(
      expected,
    )
    const inChoice = {
      ...chunk({}),
      choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: counts }],
    }
    expect(readChunks([inChoice]).usage).toEqual(expected)
    expect(
      readChunks([chunk({}, 'stop', { usage: { ...counts, prompt_cache_hit_tokens: 3 } })]).usage,
    ).toEqual({
      ...expected,
      cacheReadTokens: 3,
    })
    expect(readChunks([chunk({}, 'stop', { usage: { ...counts, cached_tokens: 4 } })]).usage).toEqual({
      ...expected,
      cacheReadTokens: 4,
    })
  })

  test('includes cache writes, and ignores invalid counts', () => {
    const details = { cached_tokens: null, cache_write_tokens: 6 }
    const counts = { prompt_tokens: 8, completion_tokens: -1, prompt_tokens_details: details }
    expect(readChunks([chunk({}, 'stop', { usage: counts })]).usage).toEqual({
      inputTokens: 8,
      cacheWriteTokens: 6,
    })
  })

  test('includes audio, images and web searches, if there are any', () => {
    const counts = {
      prompt_tokens: 80,
      completion_tokens: 40,
      prompt_tokens_details: { text_tokens: 20, audio_tokens: 50, image_tokens: 10, cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 30, image_tokens: 0 },
      server_tool_use: { web_search_requests: 1 },
    }
    expect(readChunks([chunk({}, 'stop', { usage: counts })]).usage).toStrictEqual({
      inputTokens: 80,
      outputTokens: 40,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      inputAudioTokens: 50,
      inputImageTokens: 10,
      outputAudioTokens: 30,
      webSearches: 1,
    })
  })

  test('reasoning that xAI counts separately is added to the output', () => {
    const separate = {
      prompt_tokens: 10,
      completion_tokens: 3,
      total_tokens: 33,
      completion_tokens_details: { reasoning_tokens: 20 },
    }
    expect(readChunks([chunk({}, 'stop', { usage: separate })]).usage).toEqual({
      inputTokens: 10,
      outputTokens: 23,
      reasoningTokens: 20,
    })
  })
})

describe('refusals', () => {
  test('a refusal is emitted as text and as the finish reason', () => {
    const chunks = [
      chunk({ role: 'assistant', content: null, refusal: '' }),
      chunk({ refusal: 'I cannot ' }),
      chunk({ refusal: 'help.' }),
      finishChunk('stop'),
    ]
    expect(readChunks(chunks)).toMatchObject({ text: 'I cannot help.', finish: 'refusal' })
  })
})

describe('reasoning', () => {
  test.each(['reasoning_content', 'reasoning'])('%s is emitted and keeps its field', (field) => {
    const { events } = readChunks([
      chunk({ role: 'assistant', content: '', [field]: 'Let me ' }),
      chunk({ content: null, [field]: 'think.' }),
      chunk({ content: 'Yes.', [field]: null }),
      finishChunk('stop'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Let me think.', opaque: { provider: 'acme', data: { field } } },
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('without text ends with the answer', () => {
    const { events } = readChunks([chunk({ reasoning: 'Hm.' }), finishChunk('length')])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Hm.', opaque: { provider: 'acme', data: { field: 'reasoning' } } },
    ])
  })

  test('the same text in both fields is emitted once', () => {
    const { reasoning } = readChunks([
      chunk({ reasoning: 'Hm', reasoning_content: 'Hm' }),
      finishChunk('stop'),
    ])
    expect(reasoning).toBe('Hm')
  })

  test('ends where a call starts', () => {
    const { events } = readChunks([
      chunk({ reasoning_content: 'Look.' }),
      callChunk({ index: 0, id: 'a', name: 'time', args: '{}' }),
      finishChunk('tool_calls'),
    ])
    expect(events.map(({ type }) => type)).toEqual([
      'reasoning',
      'part-end',
      'tool-input-start',
      'tool-input',
      'tool-call',
      'done',
    ])
  })

  test("Mistral's content parts are reasoning and text", () => {
    const { events } = readChunks([
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'One ' }] }] }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'two.' }] }] }),
      chunk({
        content: [
          { type: 'text', text: 'Three' },
          { type: 'reference', reference_ids: [1] },
        ],
      }),
      chunk({ content: '.' }),
      finishChunk('stop'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'One two.', opaque: { provider: 'acme', data: { field: 'thinking' } } },
      { type: 'text', text: 'Three.' },
    ])
  })

  test("OpenRouter's details are joined by index, with later fields", () => {
    const detail = (more: object) => ({ type: 'reasoning.text', index: 0, format: 'anthropic-v1', ...more })
    const { events } = readChunks([
      chunk({ reasoning: 'Let me ', reasoning_details: [detail({ text: 'Let me ' })] }),
      chunk({ reasoning: 'think.', reasoning_details: [detail({ text: 'think.', signature: null })] }),
      chunk({ reasoning_details: [detail({ text: '', signature: 'sig' })] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'xx' }] }),
      chunk({ content: 'Yes.' }),
      finishChunk('stop'),
    ])
    expect(foldMessage(events)?.content[0]).toEqual({
      type: 'reasoning',
      text: 'Let me think.',
      opaque: {
        provider: 'acme',
        data: {
          field: 'reasoning',
          details: [
            { ...detail({}), text: 'Let me think.', signature: 'sig' },
            { type: 'reasoning.encrypted', index: 1, data: 'xx' },
          ],
        },
      },
    })
  })

  test('details without another field are emitted, and kept if they have no text', () => {
    const readDetails = (details: object[]) =>
      readChunks([chunk({ reasoning_details: details }), chunk({ content: 'Yes.' }, 'stop')])
    expect(readDetails([{ type: 'reasoning.text', index: 0, text: 'Hm' }]).reasoning).toBe('Hm')
    expect(readDetails([{ type: 'reasoning.summary', index: 0, summary: 'Hm' }]).reasoning).toBe('Hm')
    const encrypted = { type: 'reasoning.encrypted', index: 0, data: 'xx' }
    expect(foldMessage(readDetails([encrypted]).events)?.content).toEqual([
      {
        type: 'reasoning',
        text: '',
        opaque: { provider: 'acme', data: { field: 'reasoning_details', details: [encrypted] } },
      },
      { type: 'text', text: 'Yes.' },
    ])
  })
})

describe('errors inside a stream', () => {
  test.each([
    [
      'an object',
      { error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' } },
      'rate_limit',
    ],
    ['a string', { error: 'upstream is overloaded' }, 'overloaded'],
    [
      "vLLM's form",
      { object: 'error', message: 'boom', type: 'InternalServerError', code: 500 },
      'llm_error',
    ],
    ['a bare message', { message: 'invalid key', code: 401 }, 'auth'],
    ['a frame of type error', { type: 'error', message: 'boom' }, 'llm_error'],
    [
      'the choice',
      { choices: [{ index: 0, delta: {}, error: { code: 502, message: 'Provider returned error' } }] },
      'llm_error',
    ],
    [
      'the choice, in words',
      { choices: [{ index: 0, delta: {}, error: 'server overloaded' }] },
      'overloaded',
    ],
    [
      'a chunk with choices',
      {
        error: { code: 429, message: 'slow down' },
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      },
      'rate_limit',
    ],
  ])('%s is thrown after the events before it', (_, frame, code) => {
    const { text, error, ended } = readChunks([
      chunk({ content: 'Hi' }),
      frame,
      finishChunk('stop'),
      '[DONE]',
    ])
    expect({ text, ended }).toEqual({ text: 'Hi', ended: false })
    expect(error).toMatchObject({ name: 'MillraceError', code })
  })

  test('an event named error is thrown too', () => {
    const reader = chatReader([], { provider: 'acme', tools: new Set() })
    expect(() => reader.read('{"message":"boom"}', 'error')).toThrow('acme failed: boom')
  })

  test('a code or a message alone is not an error', () => {
    const odd = [{ code: 7 }, { message: 'hello' }, chunk({ content: 'Hi' }, null, { code: 0 })]
    expect(readChunks([...odd, finishChunk('stop')])).toMatchObject({ text: 'Hi', ended: true })
  })

  test('a null error is not an error', () => {
    expect(readChunks([chunk({ content: 'Hi' }, 'stop', { error: null })])).toMatchObject({ ended: true })
  })
})

describe('similar chunks', () => {
  test('are each emitted, including escapes', () => {
    const result = readChunks([
      ...['a', 'a', '"b"\n', '', 'é'].map((content) => chunk({ content })),
      finishChunk('stop'),
    ])
    expect(result.text).toBe('aa"b"\né')
    expect(result.events).toHaveLength(5)
  })

  test('end the reasoning before them only once', () => {
    const { events } = readChunks([
      ...['x', 'y', 'z'].map((text) => chunk({ reasoning_content: text })),
      ...['a', 'b', 'c'].map((content) => chunk({ content })),
      finishChunk('stop'),
    ])
    expect(events.map(({ type }) => type)).toEqual([
      ...['reasoning', 'reasoning', 'reasoning', 'part-end'],
      ...['text', 'text', 'text', 'done'],
    ])
  })

  test('that are identical are each read', () => {
    const detail = { type: 'reasoning.text', text: 'go ', index: 0 }
    const { events } = readChunks([
      ...[1, 2, 3].map(() => chunk({ reasoning: 'go ', reasoning_details: [detail] })),
      chunk({ content: 'a' }),
      finishChunk('stop'),
    ])
    expect(events.find(({ type }) => type === 'part-end')).toMatchObject({
      opaque: { data: { details: [{ ...detail, text: 'go go go ' }] } },
    })
  })

  test('with a call and text are each read', () => {
    const both = chunk({ content: 'a', tool_calls: [{ index: 0, function: { arguments: ' ' } }] })
    const { calls, text } = readChunks([
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'weather', arguments: '{"city":"' } }] }),
      ...[both, both, both],
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }),
      finishChunk('tool_calls'),
    ])
    expect(text).toBe('aaa')
    expect(calls).toMatchObject([{ input: { city: '   ' } }])
  })

  test('of one call are joined, and the next call is separate', () => {
    const piece = (index: number, text: string) =>
      chunk({ tool_calls: [{ index, function: { arguments: text } }] })
    const start = (index: number) =>
      chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'weather', arguments: '' } }] })
    const pieces = ['{"city"', ':"', 'Ro', 'Ro', '\\n"}']
    const { calls, events } = readChunks([
      chunk({ reasoning_content: 'Hm' }),
      start(0),
      ...pieces.map((text) => piece(0, text)),
      chunk({ reasoning_content: 'And' }),
      start(1),
      ...pieces.map((text) => piece(1, text)),
      finishChunk('tool_calls'),
    ])
    expect(calls.map(({ callId, input }) => [callId, input])).toEqual([
      ['c0', { city: 'RoRo\n' }],
      ['c1', { city: 'RoRo\n' }],
    ])
    expect(events.filter(({ type }) => type === 'part-end')).toHaveLength(2)
    expect(events.flatMap((event) => (event.type === 'tool-input' ? [event.delta] : []))).toEqual([
      ...pieces,
      ...pieces,
    ])
  })

  test('with the event name error are an error', () => {
    const events: never[] = []
    const reader = chatReader(events, { provider: 'them', tools: new Set() })
    const data = JSON.stringify(chunk({ content: 'a' }))
    reader.read(data, '')
    reader.read(data, '')
    expect(() => reader.read(data, 'error')).toThrow('them')
    expect(events).toHaveLength(2)
  })
})

describe('two answers in one stream', () => {
  const other = (delta: object, finish: string | null = null) => chunk(delta, finish, { id: 'chatcmpl-2' })
  const piece = (args: string, more: object = {}) => ({
    tool_calls: [{ index: 0, type: 'function', function: { arguments: args }, ...more }],
  })
  const cut = [
    chunk({ role: 'assistant', content: '' }),
    callChunk({ index: 0, id: 'a', name: 'weather', args: '' }),
  ]

  test('are distinguished by chunk id: the second restarts the answer', () => {
    const time = {
      index: 0,
      id: 'b',
      type: 'function',
      function: { name: 'time', arguments: '{"zone":"UTC"}' },
    }
    const { calls, events, error } = readChunks([
      ...cut,
      other({ role: 'assistant', content: null }),
      other({ tool_calls: [time] }),
      other({}, 'tool_calls'),
      '[DONE]',
    ])
    expect(error).toBeUndefined()
    expect(calls).toEqual([{ callId: 'b', name: 'time', input: { zone: 'UTC' } }])
    expect(events.filter(({ type }) => type === 'restart')).toHaveLength(1)
  })

  test.each([
    ['continues with arguments', [...cut, other(piece('{"city":"Rome"}'))]],
    ['continues with text', [...cut, other({ content: 'Rome.' })]],
    ['only ends', [...cut, other({}, 'tool_calls')]],
  ])('are an error if the second %s', (_, frames) => {
    const { calls, error } = readChunks([...frames, '[DONE]'])
    expect(calls).toEqual([])
    expect(error).toMatchObject({ code: 'stream_error', retryable: true })
  })

  test('are not assumed if each chunk has its own id', () => {
    const rotated = [
      chunk({ role: 'assistant', content: '' }),
      callChunk({ index: 0, id: 'a', name: 'weather', args: '' }),
      chunk(piece('{"city":"Rome"}')),
      finishChunk('tool_calls'),
    ].map((frame, at) => ({ ...frame, id: `chunk-${at}` }))
    expect(readChunks([...rotated, '[DONE]'])).toMatchObject({ calls: [{ callId: 'a' }], error: undefined })
  })

  test('are not assumed for a chunk with another id that has only a role', () => {
    const frames = [
      chunk({ content: 'Hi' }),
      chunk({ content: '!' }),
      other({ role: 'assistant', content: '' }),
      finishChunk('stop'),
    ]
    expect(readChunks([...frames, '[DONE]'])).toMatchObject({ text: 'Hi!', error: undefined, finish: 'stop' })
    expect(readChunks([...frames, '[DONE]']).events.map(({ type }) => type)).not.toContain('restart')
  })

  test('are not assumed for an end or usage with another id', () => {
    const frames = [chunk({ content: 'Hi' }), chunk({ content: '!' }), other({}, 'stop')]
    expect(readChunks([...frames, { ...other({}), choices: [], usage }, '[DONE]'])).toMatchObject({
      text: 'Hi!',
      error: undefined,
      ended: true,
    })
  })
})

test('a call without arguments is complete only if the provider says so', () => {
  const started = callChunk({ index: 0, id: 'a', name: 'weather', args: '' })
  expect(readChunks([started, finishChunk('tool_calls'), '[DONE]']).calls).toHaveLength(1)
  expect(readChunks([started, '[DONE]']).calls).toEqual([])
  const whole = callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
  expect(readChunks([whole, '[DONE]']).calls).toHaveLength(1)
})
