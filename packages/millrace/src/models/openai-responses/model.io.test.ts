import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openai } from '../openai.ts'
import { look } from '../openai-chat/conversation.test-kit.ts'
import { ask, provider, recordingFetch, thrownBy } from '../openai-chat/provider.test-kit.ts'
import {
  completed,
  created,
  functionCall,
  itemAdded,
  itemDone,
  itemEvent,
  message,
  outputText,
} from './responses.test-kit.ts'

beforeEach(() => vi.stubEnv('OPENAI_BASE_URL', undefined))
afterEach(() => vi.unstubAllEnvs())

const answer = [created, itemDone(0, message([outputText('Hi')])), completed()]

test('streams an answer over a socket', async () => {
  const { url, requests } = await provider([
    created,
    itemAdded(0, functionCall()),
    itemEvent(0, 'function_call_arguments.delta', { delta: '{"city":"Rome"}' }),
    itemDone(0, functionCall('{"city":"Rome"}')),
    completed(),
  ])
  const events = await ask(openai('gpt-5', { baseURL: `${url}/v1` }), { tools: [look] })
  expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  expect(requests).toMatchObject([
    { url: '/v1/responses', body: { model: 'gpt-5', stream: true, store: false } },
  ])
})

test('an end without a terminal event is a retryable error', async () => {
  const { url } = await provider([created, itemEvent(0, 'output_text.delta', { delta: 'Hi' })])
  await expect(ask(openai('gpt-5', { baseURL: url }))).rejects.toMatchObject({
    code: 'stream_error',
    retryable: true,
  })
})

describe('the request', () => {
  test("has the model's settings, overridden by the request's", async () => {
    const { fetch, requests } = recordingFetch(answer)
    const model = openai('gpt-5', {
      fetch,
      baseURL: 'http://localhost:1234/v1',
      reasoning: 'low',
      maxOutputTokens: 100,
      extra: { truncation: 'auto', metadata: { team: 'blue' } },
    })
    await ask(model, { settings: { reasoning: 'high', extra: { truncation: 'disabled' } } })
    expect(requests[0]?.body).toMatchObject({
      reasoning: { effort: 'high' },
      max_output_tokens: 100,
      truncation: 'disabled',
      metadata: { team: 'blue' },
    })
  })

  test('has the key in the header that each provider expects', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-from-environment')
    const { fetch, requests } = recordingFetch(answer)
    await ask(openai('gpt-5', { fetch }))
    const azure = 'https://acme.openai.azure.com/openai/v1?api-version=preview'
    await ask(openai('gpt-5', { fetch, baseURL: azure, apiKey: 'azure-key' }))
    const seen = requests.map(({ url, headers }) => [
      url,
      headers.get('authorization'),
      headers.get('api-key'),
    ])
    expect(seen).toEqual([
      ['https://api.openai.com/v1/responses', 'Bearer sk-from-environment', null],
      ['https://acme.openai.azure.com/openai/v1/responses?api-version=preview', null, 'azure-key'],
    ])
  })

  test('is not sent without a required key', async () => {
    vi.stubEnv('OPENAI_API_KEY', '')
    const { fetch, requests } = recordingFetch(answer)
    await expect(ask(openai('gpt-5', { fetch }))).rejects.toMatchObject({
      code: 'auth',
      message: expect.stringContaining('OPENAI_API_KEY'),
    })
    expect(requests).toEqual([])
  })
})

test.each([
  ['gpt-5', true],
  ['gpt-5.4-mini', true],
  ['gpt-6', true],
  ['gpt-10', true],
  ['o3', true],
  ['o4-mini-2025-04-16', true],
  ['codex-mini-latest', true],
  ['openai/gpt-oss-120b', true],
  ['computer-use-preview', true],
  ['gpt-5-chat-latest', false],
  ['gpt-5.2-chat-latest', false],
  ['gpt-4o', false],
  ['gpt-4.1', false],
  ['gpt-3.5-turbo', false],
])('whether %s can reason is detected by name: %s', async (name, reasons) => {
  const { fetch, requests } = recordingFetch(answer)
  const model = openai(name, { fetch, baseURL: 'http://localhost:1234/v1' })
  expect(model.capabilities.reasoning).toBe(reasons)
  await ask(model, { settings: { reasoning: 'low' } })
  expect('reasoning' in (requests[0]?.body ?? {})).toBe(reasons)
  // The caller can override it.
  const corrected = openai(name, {
    fetch,
    baseURL: 'http://localhost:1234/v1',
    capabilities: { reasoning: !reasons },
  })
  await ask(corrected, { settings: { reasoning: 'low' } })
  expect('reasoning' in (requests[1]?.body ?? {})).toBe(!reasons)
})

test('capabilities are known and can be overridden', () => {
  expect(openai('gpt-5').capabilities).toEqual({
    tools: true,
    images: true,
    files: true,
    reasoning: true,
    streaming: true,
    structuredOutput: true,
  })
  expect(openai('gpt-5', { capabilities: { files: false } }).capabilities).toMatchObject({ files: false })
})

describe('invalid options', () => {
  const options = (given: object) => thrownBy(() => openai('gpt-5', given as never))

  test.each([
    ['apiKey', 7],
    ['baseURL', 'ftp://host'],
    ['temperature', '0'],
    ['extra', 'store'],
    // Only for Chat Completions.
    ['sendReasoning', 'always'],
  ])('%s is named', (name, value) => {
    expect(options({ [name]: value })).toMatchObject({
      code: 'invalid_input',
      op: 'openai',
      message: expect.stringContaining(`'${name}'`),
    })
  })

  test('a misspelled option gets a suggestion', () => {
    expect(options({ apikey: 'sk-1' })).toMatchObject({
      message: expect.stringContaining("did you mean 'apiKey'?"),
    })
  })

  test('a model needs a name', () => {
    expect(thrownBy(() => openai(undefined as never))).toMatchObject({ code: 'invalid_input' })
  })
})
