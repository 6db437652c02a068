import { describe, expect, test } from 'vitest'
import { foldMessage } from '../../protocol/index.ts'
import { calling, chunk, ended, hear } from './chat.test-kit.ts'
import { chatReader } from './reader.ts'

const usage = {
  prompt_tokens: 20,
  completion_tokens: 9,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 12, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 4, accepted_prediction_tokens: 0 },
}

describe('text and its end', () => {
  test('an answer is its deltas and one done', () => {
    const { events } = hear([
      chunk({ role: 'assistant', content: '', refusal: null }),
      chunk({ content: 'Good ' }),
      chunk({ content: 'morning.' }),
      ended('stop'),
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

  test('without [DONE] a finish reason is the end', () => {
    expect(hear([chunk({ content: 'Hi' }), ended('stop')])).toMatchObject({ over: true, finish: 'stop' })
  })

  test('without a finish reason [DONE] is the end', () => {
    expect(hear([chunk({ content: 'Hi' }), '[DONE]'])).toMatchObject({ over: true, finish: 'stop' })
  })

  test('with neither it is not over', () => {
    expect(hear([chunk({ content: 'Hi' })])).toMatchObject({ over: false, finish: undefined })
    expect(hear([])).toMatchObject({ over: false })
  })

  test('what is not a chunk is read over, and what is not JSON is an error', () => {
    const odd = ['', '  ', 'null', '[]', '"ping"', { type: 'ping' }, { choices: null }, { choices: [null] }]
    expect(hear([...odd, chunk({ content: 'Hi' }), ended('stop')])).toMatchObject({ text: 'Hi', over: true })
    expect(hear([chunk({ content: 'Hi' }), '{"choices":[{"de'])).toMatchObject({
      text: 'Hi',
      error: { code: 'stream_error', retryable: true },
    })
  })

  test('of several choices only the first is told', () => {
    const two = (first: string, second: string, finish: string | null) => ({
      ...chunk({}),
      choices: [
        { index: 1, delta: { content: second }, finish_reason: finish },
        { index: 0, delta: { content: first }, finish_reason: finish },
      ],
    })
    expect(hear([two('a', 'x', null), two('b', 'y', 'stop'), '[DONE]'])).toMatchObject({ text: 'ab' })
  })

  test('the second choice alone does not end the first', () => {
    const second = { ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }
    expect(hear([chunk({ content: 'a' }), second])).toMatchObject({ over: false })
  })

  test("Azure's filter of the prompt and its results beside the text are read over", () => {
    const { text, finish } = hear([
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
      ended('stop'),
    ])
    expect({ text, finish }).toEqual({ text: 'Hi', finish: 'stop' })
  })

  test('a whole message instead of a delta is the answer', () => {
    const message = {
      role: 'assistant',
      content: 'Look.',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        { id: 'b', type: 'function', function: { name: 'time', arguments: '{}' } },
      ],
    }
    expect(hear([{ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }])).toMatchObject({
      text: 'Look.',
      calls: [
        { callId: 'a', name: 'weather', input: { city: 'Rome' } },
        { callId: 'b', name: 'time', input: {} },
      ],
      finish: 'tool-calls',
    })
  })

  test('a Responses stream is named for what it is', () => {
    expect(hear([{ type: 'response.created', response: {} }]).error).toMatchObject({
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
    expect(hear([chunk({ content: 'Hi' }), ended(reason)])).toMatchObject({ finish, over: true })
  })

  test('one that is not known is other, and kept', () => {
    expect(hear([chunk({ content: 'Hi' }), ended('moon_phase')]).events.at(-1)).toEqual({
      type: 'done',
      finish: 'other',
      metadata: { id: 'chatcmpl-1', model: 'acme-1', finishReason: 'moon_phase' },
    })
  })

  test.each(['tool_calls', 'function_call', 'tool_call', 'tool_use', 'stop', 'eos', 'moon_phase'])(
    'beside complete calls %s means that they are to be run',
    (reason) => {
      const call = calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
      expect(hear([call, ended(reason)])).toMatchObject({
        calls: [{ name: 'weather', input: { city: 'Rome' } }],
        finish: 'tool-calls',
      })
    },
  )

  test('beside complete calls none at all means so too', () => {
    const call = calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
    expect(hear([call, '[DONE]'])).toMatchObject({ calls: [{ name: 'weather' }], finish: 'tool-calls' })
    // But the end of the connection says nothing.
    expect(hear([call])).toMatchObject({ calls: [], over: false })
  })

  test.each(['error', 'network_error', 'insufficient_system_resource'])(
    '%s is a failure, and closes no call',
    (reason) => {
      const call = calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
      const { error, calls, over } = hear([chunk({ content: 'Hi' }), call, ended(reason)])
      expect(error).toMatchObject({
        code: 'llm_error',
        retryable: true,
        message: expect.stringContaining(reason),
      })
      expect({ calls, over }).toEqual({ calls: [], over: false })
    },
  )
})

describe('usage', () => {
  test('is not invented where it is not reported', () => {
    expect(hear([chunk({ content: 'Hi' }, null, { usage: null }), ended('stop')]).events.at(-1)).toEqual({
      type: 'done',
      finish: 'stop',
      metadata: { id: 'chatcmpl-1', model: 'acme-1' },
    })
  })

  test('of the last chunk that has any is the one that counts', () => {
    const growing = (count: number) => ({ usage: { prompt_tokens: 5, completion_tokens: count } })
    const chunks = [chunk({ content: 'a' }, null, growing(1)), chunk({ content: 'b' }, 'stop', growing(2))]
    expect(hear(chunks).usage).toEqual({ inputTokens: 5, outputTokens: 2 })
  })

  test('is found in x_groq, in the choice, and in everybody’s words for the cache', () => {
    const counts = { prompt_tokens: 5, completion_tokens: 2 }
    const told = { inputTokens: 5, outputTokens: 2 }
    expect(hear([chunk({}, 'stop', { x_groq: { id: 'req_1', usage: counts } })]).usage).toEqual(told)
    const inChoice = {
      ...chunk({}),
      choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: counts }],
    }
    expect(hear([inChoice]).usage).toEqual(told)
    expect(hear([chunk({}, 'stop', { usage: { ...counts, prompt_cache_hit_tokens: 3 } })]).usage).toEqual({
      ...told,
      cacheReadTokens: 3,
    })
    expect(hear([chunk({}, 'stop', { usage: { ...counts, cached_tokens: 4 } })]).usage).toEqual({
      ...told,
      cacheReadTokens: 4,
    })
  })

  test('has what was written to a cache too, and nothing that is no count', () => {
    const details = { cached_tokens: null, cache_write_tokens: 6 }
    const counts = { prompt_tokens: 8, completion_tokens: -1, prompt_tokens_details: details }
    expect(hear([chunk({}, 'stop', { usage: counts })]).usage).toEqual({
      inputTokens: 8,
      cacheWriteTokens: 6,
    })
  })

  test('reasoning that xAI counts beside the completion is part of the output', () => {
    const beside = {
      prompt_tokens: 10,
      completion_tokens: 3,
      total_tokens: 33,
      completion_tokens_details: { reasoning_tokens: 20 },
    }
    expect(hear([chunk({}, 'stop', { usage: beside })]).usage).toEqual({
      inputTokens: 10,
      outputTokens: 23,
      reasoningTokens: 20,
    })
  })
})

describe('refusals', () => {
  test('a refusal is told as text and as the reason of the end', () => {
    const chunks = [
      chunk({ role: 'assistant', content: null, refusal: '' }),
      chunk({ refusal: 'I cannot ' }),
      chunk({ refusal: 'help.' }),
      ended('stop'),
    ]
    expect(hear(chunks)).toMatchObject({ text: 'I cannot help.', finish: 'refusal' })
  })
})

describe('reasoning', () => {
  test.each(['reasoning_content', 'reasoning'])('%s is told, and remembers its field', (field) => {
    const { events } = hear([
      chunk({ role: 'assistant', content: '', [field]: 'Let me ' }),
      chunk({ content: null, [field]: 'think.' }),
      chunk({ content: 'Yes.', [field]: null }),
      ended('stop'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Let me think.', opaque: { provider: 'acme', data: { field } } },
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('that is all there is ends with the answer', () => {
    const { events } = hear([chunk({ reasoning: 'Hm.' }), ended('length')])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'Hm.', opaque: { provider: 'acme', data: { field: 'reasoning' } } },
    ])
  })

  test('the same words in both fields are told once', () => {
    const { reasoning } = hear([chunk({ reasoning: 'Hm', reasoning_content: 'Hm' }), ended('stop')])
    expect(reasoning).toBe('Hm')
  })

  test('it ends where a call begins', () => {
    const { events } = hear([
      chunk({ reasoning_content: 'Look.' }),
      calling({ index: 0, id: 'a', name: 'time', args: '{}' }),
      ended('tool_calls'),
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

  test("Mistral's content in parts is reasoning and text", () => {
    const { events } = hear([
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'One ' }] }] }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'two.' }] }] }),
      chunk({
        content: [
          { type: 'text', text: 'Three' },
          { type: 'reference', reference_ids: [1] },
        ],
      }),
      chunk({ content: '.' }),
      ended('stop'),
    ])
    expect(foldMessage(events)?.content).toEqual([
      { type: 'reasoning', text: 'One two.', opaque: { provider: 'acme', data: { field: 'thinking' } } },
      { type: 'text', text: 'Three.' },
    ])
  })

  test("OpenRouter's details are joined by index, with what came later", () => {
    const detail = (more: object) => ({ type: 'reasoning.text', index: 0, format: 'anthropic-v1', ...more })
    const { events } = hear([
      chunk({ reasoning: 'Let me ', reasoning_details: [detail({ text: 'Let me ' })] }),
      chunk({ reasoning: 'think.', reasoning_details: [detail({ text: 'think.', signature: null })] }),
      chunk({ reasoning_details: [detail({ text: '', signature: 'sig' })] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'xx' }] }),
      chunk({ content: 'Yes.' }),
      ended('stop'),
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

  test('details that stand alone are told, and kept if they have no words', () => {
    const told = (details: object[]) =>
      hear([chunk({ reasoning_details: details }), chunk({ content: 'Yes.' }, 'stop')])
    expect(told([{ type: 'reasoning.text', index: 0, text: 'Hm' }]).reasoning).toBe('Hm')
    expect(told([{ type: 'reasoning.summary', index: 0, summary: 'Hm' }]).reasoning).toBe('Hm')
    const encrypted = { type: 'reasoning.encrypted', index: 0, data: 'xx' }
    expect(foldMessage(told([encrypted]).events)?.content).toEqual([
      {
        type: 'reasoning',
        text: '',
        opaque: { provider: 'acme', data: { field: 'reasoning_details', details: [encrypted] } },
      },
      { type: 'text', text: 'Yes.' },
    ])
  })
})

describe('errors inside a stream that began well', () => {
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
    ['an event that says so', { type: 'error', message: 'boom' }, 'llm_error'],
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
  ])('%s is thrown after what was said before', (_, frame, code) => {
    const { text, error, over } = hear([chunk({ content: 'Hi' }), frame, ended('stop'), '[DONE]'])
    expect({ text, over }).toEqual({ text: 'Hi', over: false })
    expect(error).toMatchObject({ name: 'MillraceError', code })
  })

  test('so is an event named error', () => {
    const reader = chatReader([], { provider: 'acme', tools: new Set() })
    expect(() => reader.read('{"message":"boom"}', 'error')).toThrow('acme failed: boom')
  })

  test('a code alone, or a message alone, is none', () => {
    const odd = [{ code: 7 }, { message: 'hello' }, chunk({ content: 'Hi' }, null, { code: 0 })]
    expect(hear([...odd, ended('stop')])).toMatchObject({ text: 'Hi', over: true })
  })

  test('an error that is null is none', () => {
    expect(hear([chunk({ content: 'Hi' }, 'stop', { error: null })])).toMatchObject({ over: true })
  })
})

describe('chunks that are alike', () => {
  test('are told each, escapes and all', () => {
    const heard = hear([...['a', 'a', '"b"\n', '', 'é'].map((content) => chunk({ content })), ended('stop')])
    expect(heard.text).toBe('aa"b"\né')
    expect(heard.events).toHaveLength(5)
  })

  test('end the reasoning before them only once', () => {
    const { events } = hear([
      ...['x', 'y', 'z'].map((text) => chunk({ reasoning_content: text })),
      ...['a', 'b', 'c'].map((content) => chunk({ content })),
      ended('stop'),
    ])
    expect(events.map(({ type }) => type)).toEqual([
      ...['reasoning', 'reasoning', 'reasoning', 'part-end'],
      ...['text', 'text', 'text', 'done'],
    ])
  })

  test('to the letter, with something in them that adds up, are read each', () => {
    const detail = { type: 'reasoning.text', text: 'go ', index: 0 }
    const { events } = hear([
      ...[1, 2, 3].map(() => chunk({ reasoning: 'go ', reasoning_details: [detail] })),
      chunk({ content: 'a' }),
      ended('stop'),
    ])
    expect(events.find(({ type }) => type === 'part-end')).toMatchObject({
      opaque: { data: { details: [{ ...detail, text: 'go go go ' }] } },
    })
  })

  test('of a call and some words are read each', () => {
    const both = chunk({ content: 'a', tool_calls: [{ index: 0, function: { arguments: ' ' } }] })
    const { calls, text } = hear([
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'weather', arguments: '{"city":"' } }] }),
      ...[both, both, both],
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }),
      ended('tool_calls'),
    ])
    expect(text).toBe('aaa')
    expect(calls).toMatchObject([{ input: { city: '   ' } }])
  })

  test('of one call are put together, and the next is another', () => {
    const piece = (index: number, text: string) =>
      chunk({ tool_calls: [{ index, function: { arguments: text } }] })
    const begin = (index: number) =>
      chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'weather', arguments: '' } }] })
    const pieces = ['{"city"', ':"', 'Ro', 'Ro', '\\n"}']
    const { calls, events } = hear([
      chunk({ reasoning_content: 'Hm' }),
      begin(0),
      ...pieces.map((text) => piece(0, text)),
      chunk({ reasoning_content: 'And' }),
      begin(1),
      ...pieces.map((text) => piece(1, text)),
      ended('tool_calls'),
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

  test('under the name of an error are one', () => {
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
    calling({ index: 0, id: 'a', name: 'weather', args: '' }),
  ]

  test('are told apart by the id of their chunks: the second begins anew', () => {
    const time = {
      index: 0,
      id: 'b',
      type: 'function',
      function: { name: 'time', arguments: '{"zone":"UTC"}' },
    }
    const { calls, events, error } = hear([
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
    ['goes on with arguments', [...cut, other(piece('{"city":"Rome"}'))]],
    ['goes on with words', [...cut, other({ content: 'Rome.' })]],
    ['only ends', [...cut, other({}, 'tool_calls')]],
  ])('are an error where the second %s', (_, frames) => {
    const { calls, error } = hear([...frames, '[DONE]'])
    expect(calls).toEqual([])
    expect(error).toMatchObject({ code: 'stream_error', retryable: true })
  })

  test('are not meant by a server that gives each chunk an id of its own', () => {
    const rotated = [
      chunk({ role: 'assistant', content: '' }),
      calling({ index: 0, id: 'a', name: 'weather', args: '' }),
      chunk(piece('{"city":"Rome"}')),
      ended('tool_calls'),
    ].map((frame, at) => ({ ...frame, id: `chunk-${at}` }))
    expect(hear([...rotated, '[DONE]'])).toMatchObject({ calls: [{ callId: 'a' }], error: undefined })
  })

  test('nor by a chunk under another id that has only a role', () => {
    const frames = [
      chunk({ content: 'Hi' }),
      chunk({ content: '!' }),
      other({ role: 'assistant', content: '' }),
      ended('stop'),
    ]
    expect(hear([...frames, '[DONE]'])).toMatchObject({ text: 'Hi!', error: undefined, finish: 'stop' })
    expect(hear([...frames, '[DONE]']).events.map(({ type }) => type)).not.toContain('restart')
  })

  test('nor by an end or a count of tokens under another id', () => {
    const frames = [chunk({ content: 'Hi' }), chunk({ content: '!' }), other({}, 'stop')]
    expect(hear([...frames, { ...other({}), choices: [], usage }, '[DONE]'])).toMatchObject({
      text: 'Hi!',
      error: undefined,
      over: true,
    })
  })
})

test('a call without arguments is complete only if the wire says so', () => {
  const begun = calling({ index: 0, id: 'a', name: 'weather', args: '' })
  expect(hear([begun, ended('tool_calls'), '[DONE]']).calls).toHaveLength(1)
  expect(hear([begun, '[DONE]']).calls).toEqual([])
  const whole = calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })
  expect(hear([whole, '[DONE]']).calls).toHaveLength(1)
})
