import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Model, ModelRequest, ModelSettings } from '../../protocol/index.ts'
import { anthropic } from '../anthropic/model.ts'
import { openaiChat } from '../openai-chat/model.ts'
import { openai } from '../openai-responses/model.ts'
import type { HttpModelOptions, HttpModelSpec } from './http-model.ts'
import { baseUrlOf, checkHttpOptions, httpModel } from './http-model.ts'
import type { Fetch } from './http-response.ts'
import { drain, key, visibleText } from './wire.test-kit.ts'

const names = [
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_BASE_URL',
  'GROQ_API_KEY',
  'TEST_KEY',
]

// Vitest restores the previous values.
beforeEach(() => {
  for (const name of names) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const spec: HttpModelSpec = {
  op: 'theirs',
  id: 'm1',
  provider: 'them',
  baseURL: 'https://api.them.test/v1',
  path: '/say',
  keyName: 'TEST_KEY',
  needsKey: true,
  keyHeaders: (value) => ({ authorization: `Bearer ${value}` }),
  headers: { 'their-version': '1' },
  capabilities: {
    tools: true,
    images: true,
    files: true,
    reasoning: true,
    streaming: true,
    structuredOutput: true,
  },
}

const { signal } = new AbortController()

function callOf(
  options: HttpModelOptions = {},
  settings: ModelSettings = {},
  more: Partial<HttpModelSpec> = {},
) {
  const model = httpModel({ ...spec, ...more }, options)
  return model.call({ hello: 'there' }, { settings: model.settings(settings), signal })
}

const request: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], settings: {} }

/** What a model sends; the response is an error. */
async function sentBy(make: (fetch: Fetch) => Model, settings: ModelSettings = {}) {
  const sent: { url: string; headers: Headers }[] = []
  const model = make(async (url, init) => {
    sent.push({ url, headers: new Headers(init.headers) })
    return new Response('', { status: 404 })
  })
  const { error } = await drain(model.stream({ ...request, settings }, { signal }))
  return { sent: sent[0], error, model }
}

describe('the key', () => {
  test('is a string, or comes from a sync or async function that is called for each request', async () => {
    let calls = 0
    const apiKey = async () => `key-${++calls}`
    const model = httpModel(spec, { apiKey })
    const call = () => model.call({}, { settings: {}, signal })
    expect((await callOf({ apiKey: key })).headers.authorization).toBe(`Bearer ${key}`)
    expect((await callOf({ apiKey: () => key })).headers.authorization).toBe(`Bearer ${key}`)
    expect((await call()).headers.authorization).toBe('Bearer key-1')
    expect((await call()).headers.authorization).toBe('Bearer key-2')
  })

  test('is read from the environment by default, and trimmed', async () => {
    vi.stubEnv('TEST_KEY', ` ${key}\n`)
    expect((await callOf()).headers.authorization).toBe(`Bearer ${key}`)
    expect((await callOf({ apiKey: 'mine' })).headers.authorization).toBe('Bearer mine')
  })

  test.each([
    ['is missing', {}],
    ['is empty', { apiKey: '' }],
    ['is an empty result of its function', { apiKey: async () => '' }],
  ])('that %s fails with the name of the variable', async (_, options) => {
    await expect(callOf(options)).rejects.toMatchObject({
      op: 'model.stream',
      code: 'auth',
      retryable: false,
      message: 'no API key for them: set TEST_KEY, or pass apiKey to theirs()',
    })
  })

  test('is not needed for every server, or if a header replaces it', async () => {
    expect((await callOf({}, {}, { needsKey: false })).headers).toStrictEqual({ 'their-version': '1' })
    for (const name of ['Authorization', 'api-key', 'X-Api-Key']) {
      const { headers } = await callOf({ headers: { [name]: 'mine' } })
      expect(headers).toStrictEqual({ 'their-version': '1', [name.toLowerCase()]: 'mine' })
    }
  })

  test.each([
    ['a line break at its end', `${key}\n`],
    ['a line break in it', `${key}\r\nx-evil: 1`],
    ['a space', `${key} x`],
    ['characters that are invalid in a header', `${key}é`],
    ['a null', `${key}\0`],
  ])('with %s is rejected without being shown', async (_, apiKey) => {
    const thrown = callOf({ apiKey })
    await expect(thrown).rejects.toMatchObject({ code: 'auth', retryable: false })
    const error = await thrown.catch((caught) => caught)
    expect(error.message).toContain('characters that are invalid in a header')
    expect(visibleText(error)).not.toContain(key)
  })

  test('that is not a string is rejected', async () => {
    await expect(callOf({ apiKey: (() => 42) as never })).rejects.toMatchObject({ code: 'auth' })
  })

  test('whose function throws is an auth error', async () => {
    const cause = new Error('the vault is closed')
    const failing = callOf({ apiKey: () => Promise.reject(cause) })
    await expect(failing).rejects.toMatchObject({ code: 'auth', retryable: false, cause })
    await expect(failing).rejects.toThrow('the apiKey function of them threw: the vault is closed')
    const leaking = callOf({
      apiKey: () => {
        throw new Error('bad: sk-abcdef0123456789')
      },
    })
    const error = await leaking.catch((caught) => caught)
    expect(visibleText(error)).not.toContain('abcdef0123456789')
  })
})

describe('headers', () => {
  test('are trimmed', async () => {
    const { headers } = await callOf({ headers: { Authorization: 'Bearer abc\r\n', 'x-a': ' b ' } })
    expect(headers).toMatchObject({ authorization: 'Bearer abc', 'x-a': 'b' })
  })

  test("of a request override the model's, then the key's, then the rest, in any case", async () => {
    const options = { apiKey: key, headers: { 'X-A': 'model', 'X-B': 'model', 'Their-Version': '2' } }
    const { headers } = await callOf(options, { headers: { 'x-a': 'call', AUTHORIZATION: 'Custom 1' } })
    expect(headers).toStrictEqual({
      'x-a': 'call',
      'x-b': 'model',
      'their-version': '2',
      authorization: 'Custom 1',
    })
  })

  test('are each sent once', async () => {
    const { sent } = await sentBy(
      (fetch) =>
        openaiChat('m', {
          fetch,
          apiKey: key,
          headers: { Authorization: 'Custom 1', 'Content-Type': 'application/json; v=2' },
        }),
      { headers: { 'X-Title': 'mine' } },
    )
    expect(Object.fromEntries(sent?.headers ?? [])).toStrictEqual({
      accept: 'text/event-stream',
      authorization: 'Custom 1',
      'content-type': 'application/json; v=2',
      'x-title': 'mine',
    })
  })

  test('with secrets are recognized, and so is a key in the URL', async () => {
    const { secrets } = await callOf({
      apiKey: key,
      baseURL: 'https://host.test/v1?key=in-the-address',
      headers: { cookie: 'session=0123456789', 'x-goog-api-key': 'another', 'x-title': 'open' },
    })
    for (const secret of [key, 'in-the-address', '0123456789', 'another']) expect(secrets).toContain(secret)
    expect(secrets).not.toContain('open')
  })

  test('with secrets never show in an error, whatever fetch and the provider return', async () => {
    const cookie = 'session=s3cr3t-0123456789'
    const echoes: Fetch[] = [
      async (url, init) => {
        throw new TypeError(`cannot send ${JSON.stringify(init.headers)} to ${url}`)
      },
      async (url, init) => {
        throw Object.assign(new Error('no'), { request: new Request(url, { headers: init.headers ?? {} }) })
      },
      async (url, init) =>
        new Response(`<html>${JSON.stringify(init.headers)} ${url}`, {
          headers: { 'content-type': 'text/html' },
        }),
      async (url, init) =>
        new Response(JSON.stringify({ error: { message: JSON.stringify([url, init.headers]) } }), {
          status: 400,
        }),
      async (url, init) =>
        new Response(`data: {"error":${JSON.stringify(JSON.stringify([url, init.headers]))}}\n\n`),
    ]
    for (const fetch of echoes)
      for (const make of [openaiChat, openai, anthropic]) {
        const model = make('m', {
          fetch,
          apiKey: key,
          headers: { cookie },
          baseURL: 'https://host.test/v1?token=t0k3n-abc',
        })
        const { error } = await drain(model.stream(request, { signal }))
        if (!error) throw new Error('it must fail')
        for (const secret of [key, 's3cr3t-0123456789', 't0k3n-abc'])
          expect(visibleText(error)).not.toContain(secret)
      }
  })
})

describe('the address', () => {
  test.each([
    ['https://host.test/v1', 'https://host.test/v1/say'],
    ['https://host.test/v1/', 'https://host.test/v1/say'],
    ['https://host.test/v1//', 'https://host.test/v1/say'],
    ['https://host.test', 'https://host.test/say'],
    ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1/say'],
    [
      'https://me.openai.azure.com/openai/deployments/d?api-version=1',
      'https://me.openai.azure.com/openai/deployments/d/say?api-version=1',
    ],
    ['https://host.test/v1/?a=1&b=2', 'https://host.test/v1/say?a=1&b=2'],
  ])('%s becomes %s', async (baseURL, url) => {
    expect((await callOf({ apiKey: key, baseURL })).url).toBe(url)
  })

  test('is read from the environment if the option is missing', async () => {
    vi.stubEnv('OPENAI_BASE_URL', 'https://env.test/v1')
    vi.stubEnv('ANTHROPIC_BASE_URL', ' https://claude.test ')
    const apiKey = key
    expect((await sentBy((fetch) => openaiChat('m', { fetch, apiKey }))).sent?.url).toBe(
      'https://env.test/v1/chat/completions',
    )
    expect((await sentBy((fetch) => openai('m', { fetch, apiKey }))).sent?.url).toBe(
      'https://env.test/v1/responses',
    )
    expect((await sentBy((fetch) => anthropic('m', { fetch, apiKey }))).sent?.url).toBe(
      'https://claude.test/v1/messages',
    )
    const given = await sentBy((fetch) => openai('m', { fetch, apiKey, baseURL: 'https://given.test/v1' }))
    expect(given.sent?.url).toBe('https://given.test/v1/responses')
  })

  test('is the default one otherwise, even if the variable is empty', async () => {
    vi.stubEnv('OPENAI_BASE_URL', '')
    const apiKey = key
    expect((await sentBy((fetch) => openai('m', { fetch, apiKey }))).sent?.url).toBe(
      'https://api.openai.com/v1/responses',
    )
    expect((await sentBy((fetch) => anthropic('m', { fetch, apiKey }))).sent?.url).toBe(
      'https://api.anthropic.com/v1/messages',
    )
  })

  test('in the environment is rejected if it is invalid', () => {
    vi.stubEnv('OPENAI_BASE_URL', 'localhost:8000')
    const where = { op: 'openai', name: 'OPENAI_BASE_URL', defaultURL: 'https://api.openai.com/v1' }
    expect(() => baseUrlOf({}, where)).toThrow(
      'OPENAI_BASE_URL in the environment must be a URL such as https://host/v1',
    )
  })

  test("does not get another provider's key from the environment", async () => {
    vi.stubEnv('OPENAI_API_KEY', key)
    for (const baseURL of [
      'https://host.test/v1',
      'http://127.0.0.1:11434/v1',
      'https://notopenai.com/v1',
      'https://openai.com.evil.test/v1',
    ])
      for (const make of [openaiChat, openai]) {
        const { sent } = await sentBy((fetch) => make('m', { fetch, baseURL }))
        expect(JSON.stringify([...(sent?.headers ?? [])]), baseURL).not.toContain(key)
      }
    const { sent, error } = await sentBy((fetch) =>
      openaiChat('m', { fetch, baseURL: 'https://api.groq.com/openai/v1' }),
    )
    expect(sent).toBeUndefined()
    expect(error?.message).toContain('set GROQ_API_KEY')
    const own = await sentBy((fetch) => openaiChat('m', { fetch }))
    expect(own.sent?.headers.get('authorization')).toBe(`Bearer ${key}`)
  })
})

describe('options', () => {
  const check = (options: unknown) => () => checkHttpOptions(options as HttpModelOptions, 'theirs', {})

  test.each([
    [{ apiKey: 5 }, "the option of theirs() 'apiKey' must be a string or a function, not a number"],
    [{ baseURL: 'host/v1' }, "'baseURL' must be a URL such as https://host/v1"],
    [{ baseURL: 'ftp://host' }, "'baseURL' must be a URL"],
    [{ baseURL: 'https://' }, "'baseURL' must be a URL"],
    [{ baseURL: 'https://me:secret@host/v1' }, "'baseURL' must not contain a user name or password"],
    [{ fetch: 'node-fetch' }, "'fetch'"],
    [{ temperature: 'hot' }, '\'temperature\' must be a number, not "hot"'],
    [{ headers: { a: 1 } }, "'headers' must be a plain object of strings"],
    [{ apikey: 'x' }, "'apikey' does not exist: did you mean 'apiKey'?"],
    ['a key', 'the options of theirs() must be an object, not a string'],
    [null, 'must be an object, not null'],
  ])('that are invalid are rejected by name: %j', (options, message) => {
    expect(check(options)).toThrow(expect.objectContaining({ code: 'invalid_input', op: 'theirs' }))
    expect(check(options)).toThrow(message)
  })

  test('that are undefined count as missing', () => {
    expect(check({ apiKey: undefined, baseURL: undefined, temperature: undefined })).not.toThrow()
  })

  test('need the name of a model', () => {
    for (const id of ['', '  ', undefined, 5, null])
      expect(() => httpModel({ ...spec, id: id as string }, {})).toThrow('must be the name of a model')
  })

  test('set the provider and the capabilities', () => {
    expect(httpModel(spec, {})).toMatchObject({ id: 'm1', provider: 'them', capabilities: { images: true } })
    expect(httpModel(spec, { provider: 'mine', capabilities: { images: false } })).toMatchObject({
      provider: 'mine',
      capabilities: { images: false, tools: true },
    })
  })

  test('are defaults for the settings of a request', () => {
    const model = httpModel(spec, {
      apiKey: key,
      temperature: 1,
      topP: 0.5,
      extra: { a: 1 },
      headers: { x: '1' },
    })
    expect(model.settings({ temperature: 0, extra: { b: 2 } })).toStrictEqual({
      temperature: 0,
      topP: 0.5,
      extra: { a: 1, b: 2 },
      headers: { x: '1' },
    })
  })

  test('with invalid settings are rejected by name', () => {
    expect(() => openaiChat('m', { capabilities: { image: false } as never })).toThrow(
      "did you mean 'images'?",
    )
    expect(() => openaiChat('m', { temperature: Number.NaN })).toThrow(
      "'temperature' must be a number, not NaN",
    )
    expect(() => openaiChat('m', { headers: { 'a b': 'c' } })).toThrow('not a valid header name')
    expect(() => openaiChat('m', { headers: new Headers() as never })).toThrow('must be a plain object')
  })
})
