import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openaiChat } from '../openai.ts'
import { callChunk, chunk, finishChunk } from './chat.test-kit.ts'
import { look } from './conversation.test-kit.ts'
import { ask, provider, recordingFetch, thrownBy } from './provider.test-kit.ts'

beforeEach(() => vi.stubEnv('OPENAI_BASE_URL', undefined))
afterEach(() => vi.unstubAllEnvs())

const answer = [chunk({ content: 'Hi' }), finishChunk('stop'), '[DONE]']

test('streams an answer over a socket', async () => {
  const { url, requests } = await provider([
    callChunk({ index: 0, id: 'a', name: 'look', args: '{"at":"cat"}' }),
    finishChunk('tool_calls'),
    '[DONE]',
  ])
  const model = openaiChat('acme-1', { baseURL: `${url}/v1` })
  const events = await ask(model, { tools: [look] })
  expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  expect(model).toMatchObject({ id: 'acme-1', provider: 'local' })
  expect(requests).toMatchObject([
    {
      url: '/v1/chat/completions',
      body: { model: 'acme-1', stream: true },
      headers: { accept: 'text/event-stream' },
    },
  ])
  expect(requests[0]?.headers).not.toHaveProperty('authorization')
})

test('an end without a terminal event is a retryable error', async () => {
  const { url } = await provider([chunk({ content: 'Hi' })])
  await expect(ask(openaiChat('acme-1', { baseURL: url }))).rejects.toMatchObject({
    code: 'stream_error',
    retryable: true,
  })
})

describe('the request', () => {
  test("has the model's settings, overridden by the request's", async () => {
    const { fetch, requests } = recordingFetch(answer)
    const model = openaiChat('acme-1', {
      fetch,
      baseURL: 'http://localhost:1234/v1',
      temperature: 1,
      maxOutputTokens: 100,
      headers: { 'x-team': 'blue', 'x-trace': 'off' },
      extra: { user: 'zoe', verbosity: 'low' },
    })
    await ask(model, {
      settings: {
        temperature: 0,
        headers: { 'x-trace': 'on' },
        extra: { verbosity: 'high', grammar: 'root' },
      },
    })
    expect(requests[0]?.body).toMatchObject({
      temperature: 0,
      max_tokens: 100,
      user: 'zoe',
      verbosity: 'high',
      grammar: 'root',
    })
    expect(requests[0]?.headers.get('x-team')).toBe('blue')
    expect(requests[0]?.headers.get('x-trace')).toBe('on')
  })

  test('has the key in the header that each provider expects', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-from-environment')
    vi.stubEnv('AZURE_OPENAI_API_KEY', 'azure-from-environment')
    const { fetch, requests } = recordingFetch(answer)
    await ask(openaiChat('gpt-5', { fetch }))
    await ask(openaiChat('gpt-5', { fetch, apiKey: async () => 'sk-of-the-minute' }))
    const azure = 'https://acme.openai.azure.com/openai/deployments/gpt-5?api-version=2026-01-01'
    await ask(openaiChat('gpt-5', { fetch, baseURL: azure }))
    await ask(openaiChat('gpt-5', { fetch, baseURL: 'https://models.acme.com/v1' }))
    const seen = requests.map(({ url, headers }) => [
      url,
      headers.get('authorization'),
      headers.get('api-key'),
    ])
    expect(seen).toEqual([
      ['https://api.openai.com/v1/chat/completions', 'Bearer sk-from-environment', null],
      ['https://api.openai.com/v1/chat/completions', 'Bearer sk-of-the-minute', null],
      [
        'https://acme.openai.azure.com/openai/deployments/gpt-5/chat/completions?api-version=2026-01-01',
        null,
        'azure-from-environment',
      ],
      // An unknown host must not get the key.
      ['https://models.acme.com/v1/chat/completions', null, null],
    ])
  })

  test('goes to the address in the environment, unless baseURL is set', async () => {
    vi.stubEnv('OPENAI_BASE_URL', 'http://localhost:8000/v1/')
    const { fetch, requests } = recordingFetch(answer)
    expect(openaiChat('acme-1', { fetch }).provider).toBe('vllm')
    await ask(openaiChat('acme-1', { fetch }))
    await ask(openaiChat('acme-1', { fetch, baseURL: 'http://localhost:11434/v1' }))
    expect(requests.map(({ url }) => url)).toEqual([
      'http://localhost:8000/v1/chat/completions',
      'http://localhost:11434/v1/chat/completions',
    ])
  })

  test('has the key from the environment if the address is from there too', async () => {
    vi.stubEnv('OPENAI_BASE_URL', 'https://gateway.acme.com/v1')
    vi.stubEnv('OPENAI_API_KEY', 'sk-gateway')
    const { fetch, requests } = recordingFetch(answer)
    await ask(openaiChat('acme-1', { fetch }))
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer sk-gateway')
  })

  test('is not sent without a required key', async () => {
    vi.stubEnv('GROQ_API_KEY', '')
    const { fetch, requests } = recordingFetch(answer)
    const model = openaiChat('llama', { fetch, baseURL: 'https://api.groq.com/openai/v1' })
    await expect(ask(model)).rejects.toMatchObject({
      code: 'auth',
      message: expect.stringContaining('GROQ_API_KEY'),
    })
    expect(requests).toEqual([])
  })

  test('sends reasoning back by the configured provider name', async () => {
    const { fetch, requests } = recordingFetch(answer)
    const model = openaiChat('acme-1', {
      fetch,
      baseURL: 'http://localhost:1234/v1',
      provider: 'mine',
      sendReasoning: 'always',
    })
    const opaque = { provider: 'mine', data: { field: 'reasoning' } }
    const content = [
      { type: 'reasoning', text: 'Hm.', opaque },
      { type: 'text', text: 'Yes.' },
    ] as const
    await ask(model, {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content },
      ],
    })
    expect(requests[0]?.body.messages).toMatchObject([{}, { reasoning: 'Hm.' }])
    expect(model.provider).toBe('mine')
  })
})

test('capabilities are known and can be overridden', () => {
  expect(openaiChat('gpt-5').capabilities).toEqual({
    tools: true,
    images: true,
    files: true,
    reasoning: true,
    streaming: true,
    structuredOutput: true,
  })
  const deepseek = openaiChat('deepseek-chat', { baseURL: 'https://api.deepseek.com' })
  expect(deepseek.capabilities.structuredOutput).toBe(false)
  expect(openaiChat('phi', { capabilities: { tools: false } }).capabilities).toMatchObject({
    tools: false,
    images: true,
  })
})

describe('invalid options', () => {
  const options = (given: object) => thrownBy(() => openaiChat('acme-1', given as never))

  test.each([
    ['apiKey', 7],
    ['baseURL', 'localhost:1234'],
    ['fetch', 'node-fetch'],
    ['provider', ''],
    ['capabilities', true],
    ['extra', []],
    ['headers', { a: 1 }],
    ['temperature', '0'],
    ['topP', null],
    ['maxOutputTokens', '9'],
    ['stop', 'END'],
    ['seed', 'x'],
    ['reasoning', 'extreme'],
    ['parallelToolCalls', 'no'],
    ['sendReasoning', 'sometimes'],
  ])('%s is named', (name, value) => {
    expect(options({ [name]: value })).toMatchObject({
      code: 'invalid_input',
      op: 'openaiChat',
      message: expect.stringContaining(`'${name}'`),
    })
  })

  test('a misspelled option gets a suggestion', () => {
    expect(options({ baseUrl: 'http://localhost' })).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining("did you mean 'baseURL'?"),
    })
    expect(options({ max_output_tokens: 9 })).toMatchObject({
      message: expect.stringContaining("'maxOutputTokens'"),
    })
  })

  test('a missing name, invalid options and a bad address in the environment are rejected', () => {
    for (const name of ['', ' ', undefined, 7])
      expect(thrownBy(() => openaiChat(name as never))).toMatchObject({ code: 'invalid_input' })
    for (const given of [null, 'http://localhost', []])
      expect(options(given as never)).toMatchObject({ code: 'invalid_input' })
    vi.stubEnv('OPENAI_BASE_URL', 'nowhere')
    expect(options({})).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('OPENAI_BASE_URL'),
    })
  })
})
