import type { JsonObject } from 'millrace'
import { describe, expect, test } from 'vitest'
import { providerSimulator } from './provider-simulator.ts'
import { keyHeaders, least, post, wires } from './raw-client.test-kit.ts'
import { signatureOf } from './seal.ts'
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

/** What is wrong with it, as told by the wire. */
async function flaw(wire: Wire, body: unknown): Promise<string | undefined> {
  const { status, body: told } = await send(wire, body)
  if (status === 200) return undefined
  expect(told).toMatchObject(
    wire === 'anthropic'
      ? { type: 'error', error: { type: 'invalid_request_error' } }
      : { error: { type: 'invalid_request_error' } },
  )
  return told.error.message
}

const user = { role: 'user', content: 'hi' }

describe.each(wires)('over %s', (wire) => {
  test('the least is taken', async () => {
    expect(await flaw(wire, least(wire))).toBeUndefined()
  })

  test('a key is needed, and the right one', async () => {
    const version = { 'anthropic-version': '2023-06-01' }
    const without = await send(wire, least(wire), { headers: version as never })
    expect(without).toMatchObject({ status: 401, body: { error: { message: expect.stringMatching(/key/) } } })
    const wrong = await send(wire, least(wire), { apiKey: 'another' })
    expect(wrong.status).toBe(401)
    expect(JSON.stringify(wrong.body)).not.toContain('sk-test')
    expect((await send(wire, least(wire), { apiKey: 'sk-test' })).status).toBe(200)
    if (wire === 'anthropic') expect(without.body.error.type).toBe('authentication_error')
    else expect(wrong.body.error.code).toBe('invalid_api_key')
  })

  test('what is no JSON, or no object, is refused', async () => {
    for (const body of ['{', '[]', '"hi"', 'null', '']) expect(await flaw(wire, body)).toMatch(/JSON/)
  })

  test('a model is needed', async () => {
    expect(await flaw(wire, { ...least(wire), model: undefined })).toMatch(/model/)
  })

  test('nothing is checked if nothing is to be', async () => {
    expect((await send(wire, {}, { headers: {} as never, checks: false })).status).toBe(200)
  })
})

test('Anthropic wants its version', async () => {
  const told = await send('anthropic', least('anthropic'), { headers: { 'x-api-key': 'k' } })
  expect(told).toMatchObject({
    status: 400,
    body: { error: { message: 'anthropic-version: header is required' } },
  })
})

describe('a schema to be kept to the letter', () => {
  const shut = { type: 'object', properties: {}, required: [], additionalProperties: false }
  const open: JsonObject = { type: 'object', properties: {} }
  const within = (inner: JsonObject) => ({ ...shut, properties: { a: inner }, required: ['a'] })
  const b = { b: { type: 'string' } }
  const notClosed = "'additionalProperties' is required to be supplied and to be false."
  const notRequired =
    "'required' is required to be supplied and to be an array including every key in properties. Missing 'b'."

  const openai: [string, JsonObject, string | undefined][] = [
    ['closed', shut, undefined],
    ['closed all the way down', within({ type: 'array', items: within({ anyOf: [shut] }) }), undefined],
    ['open', open, `In context=(), ${notClosed}`],
    ['open on purpose', { ...shut, additionalProperties: true }, `In context=(), ${notClosed}`],
    ['with a choice in it', { ...shut, properties: b }, `In context=(), ${notRequired}`],
    [
      'with no word of what is required',
      { ...shut, properties: b, required: undefined as never },
      notRequired,
    ],
    ['open inside', within(open), `In context=('properties', 'a'), ${notClosed}`],
    ['open in a list', within({ type: 'array', items: open }), `('properties', 'a', 'items'), ${notClosed}`],
    ['open or nothing', within({ type: ['object', 'null'] }), `('properties', 'a'), ${notClosed}`],
    ['open in a choice', within({ anyOf: [shut, open] }), `('properties', 'a', 'anyOf', '1'), ${notClosed}`],
    ['open in a definition', { ...shut, $defs: { x: open } }, `('$defs', 'x'), ${notClosed}`],
  ]
  const ask = async (wire: Wire, more: JsonObject) => {
    const { body } = await send(wire, { ...least(wire), ...more })
    return body.error ?? undefined
  }

  test.each(openai)('%s, as OpenAI sees it', async (_, schema, problem) => {
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
      const told = await ask(wire, more(true))
      if (problem === undefined) expect(told).toBeUndefined()
      else {
        expect(told).toMatchObject({ type: 'invalid_request_error', param, code })
        expect(told.message).toMatch(new RegExp(`^Invalid schema for ${what} 'x': In context=`))
        expect(told.message).toContain(problem)
      }
    }
  })

  test.each<[string, JsonObject, boolean]>([
    ['closed', shut, true],
    ['closed, with a choice in it', { ...shut, properties: b }, true],
    ['open', open, false],
    ['open inside', within({ type: 'array', items: { anyOf: [open] } }), false],
  ])('%s, as Anthropic sees it', async (_, schema, taken) => {
    const words = "For 'object' type, 'additionalProperties' must be explicitly set to false"
    const tools = (strict: boolean) => ({ tools: [{ name: 'x', strict, input_schema: schema }] })
    expect(await ask('anthropic', tools(false))).toBeUndefined()
    expect((await ask('anthropic', tools(true)))?.message).toBe(
      taken ? undefined : `tools.0.custom: ${words}`,
    )
    const output_config = { format: { type: 'json_schema', schema } }
    expect((await ask('anthropic', { output_config }))?.message).toBe(
      taken ? undefined : `output_config.format.schema: ${words}`,
    )
  })
})

describe('half a character', () => {
  const told = async (content: string) => {
    const { body } = await send(
      'anthropic',
      JSON.stringify({ ...least('anthropic', '#') }).replace('#', content),
    )
    return body.error?.message
  }
  /** Up to the text of the message, so many characters. */
  const start = JSON.stringify(least('anthropic', '#')).indexOf('#')
  const place = (chars: number) => `line 1 column ${start + chars + 1} (char ${start + chars})`
  const said = 'The request body is not valid JSON:'

  test.each<[string, string | undefined]>([
    ['fine \\ud83d\\ude00', undefined],
    ['fine 😀', undefined],
    ['a backslash: \\\\ud83d', undefined],
    ['a\\ud83d', `${said} no low surrogate in string: ${place(7)}`],
    ['😀\\ud83d', `${said} no low surrogate in string: ${place(7)}`],
    ['\\ud83d\\ude00\\ud83d more', `${said} no low surrogate in string: ${place(18)}`],
    ['\\ud83d\\u0041', `${said} invalid low surrogate in string: ${place(6)}`],
    ['a\\ude00', `${said} invalid high surrogate in string: ${place(1)}`],
  ])('%s, as Anthropic sees it', async (content, message) => {
    expect(await told(content)).toBe(message)
  })

  test('what JSON.stringify makes of a text that was cut through an emoji is refused', async () => {
    expect((await send('anthropic', least('anthropic', '😀'.slice(0, 1)))).status).toBe(400)
    expect((await send('openai-chat', least('openai-chat', '😀'.slice(0, 1)))).status).toBe(200)
  })

  test('bytes that are no UTF-8 are refused', async () => {
    await using sim = await providerSimulator(['fine'])
    const text = JSON.stringify(least('anthropic', 'é'))
    const response = await fetch(`${sim.baseURL}/messages`, {
      method: 'POST',
      headers: keyHeaders('anthropic'),
      body: Buffer.from(text, 'latin1'),
    })
    expect((await response.json()).error.message).toBe(
      `${said} str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)`,
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
  const chat = (...messages: unknown[]) => flaw('openai-chat', { model: 'm', messages })
  const tools = (...names: string[]) =>
    names.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  const withTools = (more: JsonObject) => flaw('openai-chat', { ...least('openai-chat'), ...more })

  test('a conversation in order is taken', async () => {
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
    ['an unanswered call before words', [user, calls('a'), user], /must be followed by tool messages/],
    ['a result without its call', [user, result('a')], /must be a response to a preceeding message/],
    ['a result away from its call', [user, calls('a'), result('a'), user, result('a')], /must be a response/],
    ['a result twice', [user, calls('a'), result('a'), result('a')], /must be a response/],
    ['the same id twice', [user, calls('a', 'a'), result('a')], /Duplicate/],
    [
      'a long id',
      [user, calls('x'.repeat(41)), result('x'.repeat(41))],
      /maximum length 40, but got a string with length 41/,
    ],
    [
      'a call that is none',
      [user, { role: 'assistant', tool_calls: [{ id: 'a' }] }],
      /tool_calls\[0\]\.type/,
    ],
    [
      'a call of an impossible name',
      [user, named('get weather'), result('a')],
      "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    ['a call of no name', [user, named(''), result('a')], /function\.name': empty string/],
    ['a call of a long name', [user, named('a'.repeat(65)), result('a')], /function\.name': string too long/],
    [
      'parts of the other API',
      [{ role: 'user', content: [{ type: 'input_text' }] }],
      "Invalid value: 'input_text'",
    ],
    ['an answer of nothing', [user, { role: 'assistant', content: null }], /expected a string, got null/],
  ])('%s is refused', async (_, messages, message) => {
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
      'a choice of no tool',
      { tools: tools('a'), tool_choice: { type: 'function', function: { name: 'b' } } },
      "Tool choice 'function' not found in 'tools' parameter.",
    ],
    ['a choice without tools', { tool_choice: 'required' }, "must be specified with 'tools'"],
  ])('%s is refused', async (_, more, message) => {
    expect(await withTools(more)).toContain(message)
  })

  test('missing messages are named', async () => {
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
  const responses = (...input: unknown[]) => flaw('openai-responses', { model: 'm', input })

  test('a conversation in order is taken', async () => {
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
      'an id of another kind',
      [call('a', { id: 'call_a' }), output('a')],
      "Expected an ID that begins with 'fc'.",
    ],
    ['parts of the other API', [{ role: 'user', content: [{ type: 'text' }] }], "Invalid value: 'text'"],
    [
      'a call of an impossible name',
      [user, call('a', { name: 'get.weather' }), output('a')],
      "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    [
      'a call of a long name',
      [call('a', { name: 'a'.repeat(65) }), output('a')],
      "Invalid 'input[0].name': string too long",
    ],
    [
      'a thought of someone else',
      [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAAAnonsense' }, call('a'), output('a')],
      'The encrypted content gAAA...ense could not be verified.',
    ],
  ])('%s is refused', async (_, input, message) => {
    expect(await responses(...input)).toContain(message)
  })

  test('thoughts come back unchanged, with what came of them, and by name only if they are kept', async () => {
    await using sim = await providerSimulator((_, index) =>
      index === 0 ? [{ reasoning: 'hm' }, { call: 'a', id: 'call_a' }] : 'fine',
    )
    const ask = async (input: unknown[], store = true) => {
      const body = { model: 'm', input, store, include: ['reasoning.encrypted_content'] }
      const response = await post(sim, 'openai-responses', body)
      const told = await response.json()
      return told.error ? `${response.status} ${told.error.message}` : told
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
  const anthropic = (...messages: unknown[]) => flaw('anthropic', { model: 'm', max_tokens: 9, messages })
  const withMore = (more: JsonObject) => flaw('anthropic', { ...least('anthropic'), ...more })
  const tools = (...names: string[]) => names.map((name) => ({ name, input_schema: { type: 'object' } }))

  test('a conversation in order is taken, roles in a row together', async () => {
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
      'a role of its own',
      [{ role: 'tool', content: 'x' }],
      "messages.0.role: Input should be 'user' or 'assistant'",
    ],
    ['a system message', [{ role: 'system', content: 'x' }], 'messages: Unexpected role "system"'],
    [
      'an assistant first',
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
      'a strange id',
      [user, assistant(use('a.b')), results(result('a.b'))],
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      'an id used before',
      [user, assistant(use('a')), results(result('a')), assistant(use('a')), results(result('a'))],
      'messages.3.content.0: `tool_use` ids must be unique',
    ],
    [
      'arguments that are no object',
      [user, assistant(use('a', { input: 'x' })), results(result('a'))],
      'tool_use.input: Input should be a valid dictionary',
    ],
    [
      'a thought without a signature',
      [user, assistant({ type: 'thinking', thinking: 'hm' })],
      'messages.1.content.0.thinking.signature: Field required',
    ],
    [
      'a thought of someone else',
      [user, assistant({ type: 'thinking', thinking: 'hm', signature: 'mine' })],
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    ],
    [
      'a changed thought',
      [user, assistant({ type: 'thinking', thinking: 'hm!', signature: signatureOf('hm') })],
      'Invalid `signature`',
    ],
    [
      'hidden thoughts of someone else',
      [user, assistant({ type: 'redacted_thinking', data: 'x' })],
      'Invalid `data`',
    ],
    ['a call by the user', [results(use('a'))], 'is not allowed in `user` messages'],
  ])('%s is refused', async (_, messages, message) => {
    expect(await anthropic(...messages)).toContain(message)
  })

  test.each<[string, JsonObject, string]>([
    ['no limit', { max_tokens: undefined as never }, 'max_tokens: Field required'],
    ['no messages', { messages: undefined as never }, 'messages: Field required'],
    ['a limit of nothing', { max_tokens: 0 }, 'max_tokens: Input should be greater than or equal to 1'],
    [
      'a name that breaks the pattern',
      { tools: tools('a b') },
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    ['a name twice', { tools: tools('a', 'a') }, 'tools: Tool names must be unique.'],
    [
      'a choice of no tool',
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
      'more thinking than words',
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      '`max_tokens` must be greater than',
    ],
    [
      'too little thinking',
      { thinking: { type: 'enabled', budget_tokens: 10 } },
      'greater than or equal to 1024',
    ],
    [
      'thinking at another temperature',
      { max_tokens: 4096, temperature: 0, thinking: { type: 'enabled', budget_tokens: 1024 } },
      '`temperature` may only be set to 1',
    ],
  ])('%s is refused', async (_, more, message) => {
    expect(await withMore(more)).toContain(message)
  })

  test('thoughts come back as they were, and before their calls while thinking is on', async () => {
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
      const told = await (
        await post(sim, 'anthropic', { model: 'm', max_tokens: 4096, thinking, messages })
      ).json()
      return told.error?.message ?? told
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
    // Whether it thinks at all is up to the model, so nobody can be asked for a thought.
    expect(await ask(bare, { type: 'adaptive' })).toMatchObject({ stop_reason: 'end_turn' })
  })
})
