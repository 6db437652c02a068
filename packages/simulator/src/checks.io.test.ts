import type { JsonObject } from 'millrace'
import { describe, expect, test } from 'vitest'
import { providerSimulator } from './provider-simulator.ts'
import { keyHeaders, minimalRequest, post, wires } from './raw-client.test-kit.ts'
import { signatureOf } from './signature.ts'
import type { Wire } from './wire.ts'

async function send(
  wire: Wire,
  body: unknown,
  { headers = keyHeaders(wire), apiKey = '', checks = true } = {},
) {
  await using sim = await providerSimulator(() => 'fine', { checks, ...(apiKey && { apiKey }) })
  const response = await post(sim, wire, body, headers)
  return { status: response.status, body: await response.json() }
}

/** The error of the wire for a request. */
async function errorOf(wire: Wire, body: unknown): Promise<string | undefined> {
  const { status, body: answer } = await send(wire, body)
  if (status === 200) return undefined
  expect(answer).toMatchObject(
    wire === 'anthropic'
      ? { type: 'error', error: { type: 'invalid_request_error' } }
      : { error: { type: 'invalid_request_error' } },
  )
  return answer.error.message
}

const user = { role: 'user', content: 'hi' }

describe.each(wires)('over %s', (wire) => {
  test('accepts a minimal request', async () => {
    expect(await errorOf(wire, minimalRequest(wire))).toBeUndefined()
  })

  test('requires the right key', async () => {
    const version = { 'anthropic-version': '2023-06-01' }
    const without = await send(wire, minimalRequest(wire), { headers: version as never })
    expect(without).toMatchObject({ status: 401, body: { error: { message: expect.stringMatching(/key/) } } })
    const wrong = await send(wire, minimalRequest(wire), { apiKey: 'another' })
    expect(wrong.status).toBe(401)
    expect(JSON.stringify(wrong.body)).not.toContain('sk-test')
    expect((await send(wire, minimalRequest(wire), { apiKey: 'sk-test' })).status).toBe(200)
    if (wire === 'anthropic') expect(without.body.error.type).toBe('authentication_error')
    else expect(wrong.body.error.code).toBe('invalid_api_key')
  })

  test('rejects a body that is not a JSON object', async () => {
    for (const body of ['{', '[]', '"hi"', 'null', '']) expect(await errorOf(wire, body)).toMatch(/JSON/)
  })

  test('requires a model', async () => {
    expect(await errorOf(wire, { ...minimalRequest(wire), model: undefined })).toMatch(/model/)
  })

  test('checks nothing with checks: false', async () => {
    expect((await send(wire, {}, { headers: {} as never, checks: false })).status).toBe(200)
  })
})

test('Anthropic requires its version header', async () => {
  const answer = await send('anthropic', minimalRequest('anthropic'), { headers: { 'x-api-key': 'k' } })
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { message: 'anthropic-version: header is required' } },
  })
})

describe('a strict schema', () => {
  const shut = { type: 'object', properties: {}, required: [], additionalProperties: false }
  const open: JsonObject = { type: 'object', properties: {} }
  const within = (inner: JsonObject) => ({ ...shut, properties: { a: inner }, required: ['a'] })
  const b = { b: { type: 'string' } }
  const notClosed = "'additionalProperties' is required to be supplied and to be false."
  const notRequired =
    "'required' is required to be supplied and to be an array including every key in properties. Missing 'b'."

  const openai: [string, JsonObject, string | undefined][] = [
    ['closed', shut, undefined],
    ['closed at all levels', within({ type: 'array', items: within({ anyOf: [shut] }) }), undefined],
    ['open', open, `In context=(), ${notClosed}`],
    ['open on purpose', { ...shut, additionalProperties: true }, `In context=(), ${notClosed}`],
    ['with an optional property', { ...shut, properties: b }, `In context=(), ${notRequired}`],
    ['without required', { ...shut, properties: b, required: undefined as never }, notRequired],
    ['open inside', within(open), `In context=('properties', 'a'), ${notClosed}`],
    ['open in a list', within({ type: 'array', items: open }), `('properties', 'a', 'items'), ${notClosed}`],
    ['open or null', within({ type: ['object', 'null'] }), `('properties', 'a'), ${notClosed}`],
    ['open in anyOf', within({ anyOf: [shut, open] }), `('properties', 'a', 'anyOf', '1'), ${notClosed}`],
    ['open in a definition', { ...shut, $defs: { x: open } }, `('$defs', 'x'), ${notClosed}`],
  ]
  const ask = async (wire: Wire, more: JsonObject) => {
    const { body } = await send(wire, { ...minimalRequest(wire), ...more })
    return body.error ?? undefined
  }

  test.each(openai)('%s, for OpenAI', async (_, schema, problem) => {
    const chat = (strict: boolean) => ({
      tools: [{ type: 'function', function: { name: 'x', strict, parameters: schema } }],
    })
    const chatFormat = (strict: boolean) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict, schema } },
    })
    const tool = (strict: boolean) => ({
      tools: [{ type: 'function', name: 'x', strict, parameters: schema }],
    })
    const format = (strict: boolean) => ({
      text: { format: { type: 'json_schema', name: 'x', strict, schema } },
    })
    const places = [
      ['openai-chat', chat, 'function', 'tools[0].function.parameters', 'invalid_function_parameters'],
      ['openai-chat', chatFormat, 'response_format', 'response_format', null],
      ['openai-responses', tool, 'function', 'tools[0].parameters', 'invalid_function_parameters'],
      ['openai-responses', format, 'response_format', 'text.format.schema', 'invalid_json_schema'],
    ] as const
    for (const [wire, more, what, param, code] of places) {
      expect(await ask(wire, more(false))).toBeUndefined()
      const answer = await ask(wire, more(true))
      if (problem === undefined) expect(answer).toBeUndefined()
      else {
        expect(answer).toMatchObject({ type: 'invalid_request_error', param, code })
        expect(answer.message).toMatch(new RegExp(`^Invalid schema for ${what} 'x': In context=`))
        expect(answer.message).toContain(problem)
      }
    }
  })

  test.each<[string, JsonObject, boolean]>([
    ['closed', shut, true],
    ['closed, with an optional property', { ...shut, properties: b }, true],
    ['open', open, false],
    ['open inside', within({ type: 'array', items: { anyOf: [open] } }), false],
  ])('%s, for Anthropic', async (_, schema, accepted) => {
    const words = "For 'object' type, 'additionalProperties' must be explicitly set to false"
    const tools = (strict: boolean) => ({ tools: [{ name: 'x', strict, input_schema: schema }] })
    expect(await ask('anthropic', tools(false))).toBeUndefined()
    expect((await ask('anthropic', tools(true)))?.message).toBe(
      accepted ? undefined : `tools.0.custom: ${words}`,
    )
    const output_config = { format: { type: 'json_schema', schema } }
    expect((await ask('anthropic', { output_config }))?.message).toBe(
      accepted ? undefined : `output_config.format.schema: ${words}`,
    )
  })
})

describe('a lone surrogate', () => {
  const errorFor = async (content: string) => {
    const { body } = await send(
      'anthropic',
      JSON.stringify({ ...minimalRequest('anthropic', '#') }).replace('#', content),
    )
    return body.error?.message
  }
  /** The position of a character in the text of the message. */
  const start = JSON.stringify(minimalRequest('anthropic', '#')).indexOf('#')
  const position = (chars: number) => `line 1 column ${start + chars + 1} (char ${start + chars})`
  const prefix = 'The request body is not valid JSON:'

  test.each<[string, string | undefined]>([
    ['fine \\ud83d\\ude00', undefined],
    ['fine 😀', undefined],
    ['a backslash: \\\\ud83d', undefined],
    ['a\\ud83d', `${prefix} no low surrogate in string: ${position(7)}`],
    ['😀\\ud83d', `${prefix} no low surrogate in string: ${position(7)}`],
    ['\\ud83d\\ude00\\ud83d more', `${prefix} no low surrogate in string: ${position(18)}`],
    ['\\ud83d\\u0041', `${prefix} invalid low surrogate in string: ${position(6)}`],
    ['a\\ude00', `${prefix} invalid high surrogate in string: ${position(1)}`],
  ])('%s, for Anthropic', async (content, message) => {
    expect(await errorFor(content)).toBe(message)
  })

  test('rejects the output of JSON.stringify for a text that was cut within an emoji', async () => {
    expect((await send('anthropic', minimalRequest('anthropic', '😀'.slice(0, 1)))).status).toBe(400)
    expect((await send('openai-chat', minimalRequest('openai-chat', '😀'.slice(0, 1)))).status).toBe(200)
  })

  test('rejects bytes that are not UTF-8', async () => {
    await using sim = await providerSimulator(['fine'])
    const text = JSON.stringify(minimalRequest('anthropic', 'é'))
    const response = await fetch(`${sim.baseURL}/messages`, {
      method: 'POST',
      headers: keyHeaders('anthropic'),
      body: Buffer.from(text, 'latin1'),
    })
    expect((await response.json()).error.message).toBe(
      `${prefix} str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)`,
    )
  })
})

describe('Chat Completions', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'a', arguments: '{}' } })
  const calls = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) })
  const named = (name: string) => ({
    role: 'assistant',
    tool_calls: [{ ...call('a'), function: { name, arguments: '{}' } }],
  })
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
  const chat = (...messages: unknown[]) => errorOf('openai-chat', { model: 'm', messages })
  const tools = (...names: string[]) =>
    names.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  const withTools = (more: JsonObject) =>
    errorOf('openai-chat', { ...minimalRequest('openai-chat'), ...more })

  test('accepts a valid conversation', async () => {
    expect(
      await chat({ role: 'system', content: 's' }, user, calls('a', 'b'), result('b'), result('a'), user),
    ).toBeUndefined()
    expect(
      await chat(user, { role: 'assistant', content: 'x' }, { role: 'developer', content: 'd' }),
    ).toBeUndefined()
    expect(
      await withTools({ tools: tools('a'), tool_choice: { type: 'function', function: { name: 'a' } } }),
    ).toBeUndefined()
  })

  test.each<[string, unknown[], string | RegExp]>([
    ['no messages', [], "Invalid 'messages': empty array"],
    [
      'an unknown role',
      [{ role: 'robot', content: '' }],
      "Invalid value: 'robot'. Supported values are: 'system', ",
    ],
    ['no content', [{ role: 'user' }], "Missing required parameter: 'messages[0].content'."],
    ['an unanswered call', [user, calls('a', 'b'), result('a')], /did not have response messages: b$/],
    ['an unanswered call before text', [user, calls('a'), user], /must be followed by tool messages/],
    ['a result without its call', [user, result('a')], /must be a response to a preceeding message/],
    ['a result away from its call', [user, calls('a'), result('a'), user, result('a')], /must be a response/],
    ['a result twice', [user, calls('a'), result('a'), result('a')], /must be a response/],
    ['the same id twice', [user, calls('a', 'a'), result('a')], /Duplicate/],
    [
      'a long id',
      [user, calls('x'.repeat(41)), result('x'.repeat(41))],
      /maximum length 40, but got a string with length 41/,
    ],
    ['an invalid call', [user, { role: 'assistant', tool_calls: [{ id: 'a' }] }], /tool_calls\[0\]\.type/],
    [
      'a call with an invalid name',
      [user, named('get weather'), result('a')],
      "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    ['a call without a name', [user, named(''), result('a')], /function\.name': empty string/],
    [
      'a call with a long name',
      [user, named('a'.repeat(65)), result('a')],
      /function\.name': string too long/,
    ],
    [
      'parts of the other API',
      [{ role: 'user', content: [{ type: 'input_text' }] }],
      "Invalid value: 'input_text'",
    ],
    [
      'an empty assistant message',
      [user, { role: 'assistant', content: null }],
      /expected a string, got null/,
    ],
  ])('rejects %s', async (_, messages, message) => {
    expect(await chat(...messages)).toEqual(
      typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
    )
  })

  test.each<[string, JsonObject, string]>([
    [
      'a name that breaks the pattern',
      { tools: tools('a b') },
      "Invalid 'tools[0].function.name': string does not match",
    ],
    ['a long name', { tools: tools('a'.repeat(65)) }, 'maximum length 64'],
    [
      'a choice of an unknown tool',
      { tools: tools('a'), tool_choice: { type: 'function', function: { name: 'b' } } },
      "Tool choice 'function' not found in 'tools' parameter.",
    ],
    ['a choice without tools', { tool_choice: 'required' }, "must be specified with 'tools'"],
  ])('rejects %s', async (_, more, message) => {
    expect(await withTools(more)).toContain(message)
  })

  test('names missing messages', async () => {
    const { body } = await send('openai-chat', { model: 'm' })
    expect(body.error).toEqual({
      message: "Missing required parameter: 'messages'.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'missing_required_parameter',
    })
  })
})

describe('Responses', () => {
  const call = (call_id: string, more: JsonObject = {}) => ({
    type: 'function_call',
    call_id,
    name: 'a',
    arguments: '{}',
    ...more,
  })
  const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'x' })
  const responses = (...input: unknown[]) => errorOf('openai-responses', { model: 'm', input })

  test('accepts a valid conversation', async () => {
    expect(await responses(user, call('a'), call('b'), output('b'), output('a'), user)).toBeUndefined()
    expect(await responses({ role: 'user', content: [{ type: 'input_text', text: 'x' }] })).toBeUndefined()
  })

  test.each<[string, unknown[], string]>([
    [
      'an unknown role',
      [{ role: 'tool', content: 'x' }],
      "Invalid value: 'tool'. Supported values are: 'assistant'",
    ],
    ['an unanswered call', [user, call('a')], 'No tool output found for function call a.'],
    [
      'an output without its call',
      [user, output('a')],
      'No tool call found for function call output with call_id a.',
    ],
    ['an output before its call', [output('a'), call('a')], 'No tool call found'],
    ['the same id twice', [call('a'), call('a'), output('a')], 'Duplicate item found with id a.'],
    [
      'a long id',
      [call('x'.repeat(65)), output('x'.repeat(65))],
      'maximum length 64, but got a string with length 65',
    ],
    [
      'an id with another prefix',
      [call('a', { id: 'call_a' }), output('a')],
      "Expected an ID that begins with 'fc'.",
    ],
    ['parts of the other API', [{ role: 'user', content: [{ type: 'text' }] }], "Invalid value: 'text'"],
    [
      'a call with an invalid name',
      [user, call('a', { name: 'get.weather' }), output('a')],
      "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    [
      'a call with a long name',
      [call('a', { name: 'a'.repeat(65) }), output('a')],
      "Invalid 'input[0].name': string too long",
    ],
    [
      'reasoning that was not issued',
      [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAAAnonsense' }, call('a'), output('a')],
      'The encrypted content gAAA...ense could not be verified.',
    ],
  ])('rejects %s', async (_, input, message) => {
    expect(await responses(...input)).toContain(message)
  })

  test('requires reasoning unchanged, with its output, and by id only if it is stored', async () => {
    await using sim = await providerSimulator((_, index) =>
      index === 0 ? [{ reasoning: 'hm' }, { call: 'a', id: 'call_a' }] : 'fine',
    )
    const ask = async (input: unknown[], store = true) => {
      const body = { model: 'm', input, store, include: ['reasoning.encrypted_content'] }
      const response = await post(sim, 'openai-responses', body)
      const answer = await response.json()
      return answer.error ? `${response.status} ${answer.error.message}` : answer
    }
    const { output: items } = await ask([user])
    const [thought, made] = items
    const rest = [{ ...made }, output('call_a')]
    expect(await ask([user, thought, ...rest], false)).toHaveProperty('status', 'completed')
    expect(await ask([user, { ...thought, encrypted_content: undefined }, ...rest])).toHaveProperty('status')
    const references = [thought, made].map(({ id }) => ({ type: 'item_reference', id }))
    expect(await ask([user, ...references, output('call_a')])).toHaveProperty('status', 'completed')
    expect(await ask([user, ...references, output('call_a')], false)).toMatch(
      /^404 Item with id 'rs_.*not persisted/,
    )
    const stripped = { ...thought, encrypted_content: undefined }
    expect(await ask([user, stripped, ...rest], false)).toMatch(/^404 Item with id 'rs_/)
    expect(await ask([user, { ...thought, encrypted_content: 'gAAAchanged' }, ...rest])).toMatch(
      /could not be verified/,
    )
    expect(await ask([user, ...rest])).toMatch(/without its required 'reasoning' item: 'rs_/)
    expect(await ask([user, { ...made, id: undefined }, output('call_a')])).toHaveProperty(
      'status',
      'completed',
    )
    expect(await ask([user, thought])).toMatch(/'reasoning' was provided without its required following item/)
  })
})

describe('Anthropic Messages', () => {
  const use = (id: string, more: JsonObject = {}) => ({ type: 'tool_use', id, name: 'a', input: {}, ...more })
  const result = (tool_use_id: string) => ({ type: 'tool_result', tool_use_id, content: 'x' })
  const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
  const results = (...content: unknown[]) => ({ role: 'user', content })
  const anthropic = (...messages: unknown[]) => errorOf('anthropic', { model: 'm', max_tokens: 9, messages })
  const withMore = (more: JsonObject) => errorOf('anthropic', { ...minimalRequest('anthropic'), ...more })
  const tools = (...names: string[]) => names.map((name) => ({ name, input_schema: { type: 'object' } }))

  test('accepts a valid conversation, with consecutive messages of one role', async () => {
    expect(
      await anthropic(
        user,
        user,
        assistant(use('a'), use('b')),
        results(result('b')),
        results(result('a')),
        user,
      ),
    ).toBeUndefined()
    expect(await withMore({ tools: tools('a'), tool_choice: { type: 'tool', name: 'a' } })).toBeUndefined()
  })

  test.each<[string, unknown[], string]>([
    ['no messages', [], 'messages: at least one message is required'],
    [
      'an unknown role',
      [{ role: 'tool', content: 'x' }],
      "messages.0.role: Input should be 'user' or 'assistant'",
    ],
    ['a system message', [{ role: 'system', content: 'x' }], 'messages: Unexpected role "system"'],
    [
      'an assistant message first',
      [assistant({ type: 'text', text: 'x' })],
      'first message must use the "user" role',
    ],
    [
      'an empty text',
      [results({ type: 'text', text: '' })],
      'messages: text content blocks must be non-empty',
    ],
    ['a blank text', [results({ type: 'text', text: ' \n' })], 'must contain non-whitespace text'],
    [
      'empty content',
      [{ role: 'user', content: '' }],
      'messages.0: all messages must have non-empty content',
    ],
    [
      'an unanswered call',
      [user, assistant(use('a'), use('b')), results(result('a'))],
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b.',
    ],
    ['a call at the end', [user, assistant(use('a'))], 'immediately after: a.'],
    [
      'a result without its call',
      [results(result('a'))],
      'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a.',
    ],
    [
      'a result twice',
      [user, assistant(use('a')), results(result('a'), result('a'))],
      'must have a single result',
    ],
    [
      'an invalid id',
      [user, assistant(use('a.b')), results(result('a.b'))],
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      'an id used before',
      [user, assistant(use('a')), results(result('a')), assistant(use('a')), results(result('a'))],
      'messages.3.content.0: `tool_use` ids must be unique',
    ],
    [
      'arguments that are not an object',
      [user, assistant(use('a', { input: 'x' })), results(result('a'))],
      'tool_use.input: Input should be a valid dictionary',
    ],
    [
      'thinking without a signature',
      [user, assistant({ type: 'thinking', thinking: 'hm' })],
      'messages.1.content.0.thinking.signature: Field required',
    ],
    [
      'reasoning that was not issued',
      [user, assistant({ type: 'thinking', thinking: 'hm', signature: 'mine' })],
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    ],
    [
      'changed thinking',
      [user, assistant({ type: 'thinking', thinking: 'hm!', signature: signatureOf('hm') })],
      'Invalid `signature`',
    ],
    [
      'redacted thinking that was not issued',
      [user, assistant({ type: 'redacted_thinking', data: 'x' })],
      'Invalid `data`',
    ],
    ['a call by the user', [results(use('a'))], 'is not allowed in `user` messages'],
  ])('rejects %s', async (_, messages, message) => {
    expect(await anthropic(...messages)).toContain(message)
  })

  test.each<[string, JsonObject, string]>([
    ['no limit', { max_tokens: undefined as never }, 'max_tokens: Field required'],
    ['no messages', { messages: undefined as never }, 'messages: Field required'],
    ['a limit of zero', { max_tokens: 0 }, 'max_tokens: Input should be greater than or equal to 1'],
    [
      'a name that breaks the pattern',
      { tools: tools('a b') },
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    ['a name twice', { tools: tools('a', 'a') }, 'tools: Tool names must be unique.'],
    [
      'a choice of an unknown tool',
      { tools: tools('a'), tool_choice: { type: 'tool', name: 'b' } },
      "Tool 'b' not found in provided tools",
    ],
    ['a choice without tools', { tool_choice: { type: 'any' } }, 'while providing `tools`'],
    [
      'a forced tool while thinking',
      {
        max_tokens: 4096,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        tools: tools('a'),
        tool_choice: { type: 'any' },
      },
      'Thinking may not be enabled when tool_choice forces tool use.',
    ],
    [
      'a thinking budget above the limit',
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      '`max_tokens` must be greater than',
    ],
    [
      'a thinking budget that is too small',
      { thinking: { type: 'enabled', budget_tokens: 10 } },
      'greater than or equal to 1024',
    ],
    [
      'thinking at another temperature',
      { max_tokens: 4096, temperature: 0, thinking: { type: 'enabled', budget_tokens: 1024 } },
      '`temperature` may only be set to 1',
    ],
  ])('rejects %s', async (_, more, message) => {
    expect(await withMore(more)).toContain(message)
  })

  test('requires thinking unchanged, and before its calls while thinking is enabled', async () => {
    const opaque = { provider: 'anthropic', data: { signature: 'scripted' } }
    await using sim = await providerSimulator((_, index) =>
      index === 0
        ? [
            { reasoning: 'hm', opaque },
            { reasoning: '', opaque: { provider: 'anthropic', data: 'hidden' } },
            { call: 'a' },
          ]
        : 'fine',
    )
    const ask = async (
      messages: unknown[],
      thinking: JsonObject = { type: 'enabled', budget_tokens: 1024 },
    ) => {
      const answer = await (
        await post(sim, 'anthropic', { model: 'm', max_tokens: 4096, thinking, messages })
      ).json()
      return answer.error?.message ?? answer
    }
    const { content } = await ask([user])
    const answered = [results(result(content[2].id))]
    expect(await ask([user, assistant(...content), ...answered])).toMatchObject({ stop_reason: 'end_turn' })
    const changed = { ...content[0], thinking: 'hm?' }
    expect(await ask([user, assistant(changed, ...content.slice(1)), ...answered])).toContain(
      'Invalid `signature`',
    )
    const bare = [user, assistant(content[2]), ...answered]
    expect(await ask(bare)).toMatch(
      /^messages\.1\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
    )
    expect(await ask(bare, { type: 'disabled' })).toMatchObject({ stop_reason: 'end_turn' })
    // With adaptive thinking the model may not think at all, so nothing is required.
    expect(await ask(bare, { type: 'adaptive' })).toMatchObject({ stop_reason: 'end_turn' })
  })
})
