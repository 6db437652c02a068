import { inspect } from 'node:util'
import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import type { ErrorCode } from '../../protocol/index.ts'
import { MillraceError } from '../../protocol/index.ts'
import type { AISDKModel } from '../ai-sdk.ts'
import { collect, fakeModel } from './ai-sdk.test-kit.ts'

/** A model whose call fails. */
const failing = (thrown: unknown): AISDKModel => ({
  ...fakeModel([]),
  doStream: () => Promise.reject(thrown),
})

const errorOf = async (model: AISDKModel) => (await collect(model)).error

/** What a provider throws for an API error. */
const apiError = (statusCode: number | undefined, message: string, more: object = {}) =>
  new APICallError({
    message,
    url: 'https://api.acme.example',
    requestBodyValues: { prompt: 'private' },
    ...(statusCode !== undefined && { statusCode }),
    responseBody: JSON.stringify({ error: { message } }),
    ...more,
  })

describe('a call that fails', () => {
  test.each<[string, unknown, ErrorCode, boolean]>([
    ['status 401', apiError(401, 'Bad key'), 'auth', false],
    ['status 429', apiError(429, 'Slow down'), 'rate_limit', true],
    ['status 429 for good', apiError(429, 'You exceeded your current quota'), 'rate_limit', false],
    ['status 500', apiError(500, 'Oops'), 'llm_error', true],
    ['status 529', apiError(529, 'Overloaded'), 'overloaded', true],
    [
      'a conversation that is too long',
      apiError(400, 'prompt is too long: 210000 tokens > 200000 maximum'),
      'context_overflow',
      false,
    ],
    ['no key', new LoadAPIKeyError({ message: 'Set ACME_API_KEY.' }), 'auth', false],
    [
      'an unsupported part',
      new UnsupportedFunctionalityError({ functionality: 'audio' }),
      'invalid_input',
      false,
    ],
    ['no such model', new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' }), 'llm_error', false],
    ['a plain error', new Error('broken'), 'llm_error', false],
    ['a string instead of an error', 'broken', 'llm_error', true],
  ])('with %s', async (_, thrown, code, retryable) => {
    expect(await errorOf(failing(thrown))).toMatchObject({ op: 'model.stream', code, retryable })
  })

  test("has the provider's message, status and delay", async () => {
    const thrown = apiError(429, 'Slow down', { responseHeaders: { 'Retry-After': '3' } })
    expect(await errorOf(failing(thrown))).toMatchObject({
      message: 'acme.chat returned 429: Slow down',
      status: 429,
      retryAfterMs: 3000,
    })
  })

  test('is a stream error if the provider is unreachable', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
    const thrown = apiError(undefined, 'Cannot connect to API', {
      cause,
      responseBody: undefined,
      isRetryable: true,
    })
    expect(await errorOf(failing(thrown))).toMatchObject({
      code: 'stream_error',
      retryable: true,
      message: 'acme.chat: the connection failed: connect ECONNREFUSED 127.0.0.1:1',
    })
  })

  test('is rethrown unchanged if it is our error', async () => {
    const own = new MillraceError({ op: 'x', code: 'timeout', message: 'late' })
    expect(await errorOf(failing(own))).toBe(own)
  })

  test('shows no keys, neither known ones nor strings that look like keys', async () => {
    const settings = { headers: { 'x-acme-key': 'open-sesame-123' } }
    const thrown = [
      apiError(400, 'bad open-sesame-123 and sk-proj-0123456789abcdef'),
      new Error('cannot send header open-sesame-123 with Bearer abcdefgh12345'),
    ]
    for (const error of thrown) {
      const shown = JSON.stringify((await collect(failing(error), { settings })).error)
      expect(shown).toContain('[key]')
      for (const key of ['open-sesame', 'sk-proj', 'abcdefgh', 'private']) expect(shown).not.toContain(key)
    }
  })
})

describe('an error in the stream', () => {
  test.each<[string, unknown, ErrorCode, boolean]>([
    [
      'with a status',
      { message: 'Overloaded', type: 'overloaded_error', statusCode: 529, isRetryable: true, data: {} },
      'overloaded',
      true,
    ],
    [
      'without a status',
      { message: 'Try later', type: 'rate_limit_error', statusCode: undefined, data: {} },
      'rate_limit',
      true,
    ],
    [
      "in the API's raw format",
      { type: 'error', error: { type: 'authentication_error', message: 'No' } },
      'auth',
      false,
    ],
    [
      'in the format of the Responses API',
      { type: 'response.failed', response: { error: { code: 'server_error', message: 'Oops' } } },
      'llm_error',
      true,
    ],
    ['as a string', 'it broke', 'llm_error', true],
    ['in a frame that is not JSON', new JSONParseError({ text: '{"a', cause: 0 }), 'stream_error', true],
    ['in an invalid frame', new InvalidResponseDataError({ data: {} }), 'stream_error', true],
  ])('%s', async (_, reported, code, retryable) => {
    const { events, error } = await collect(
      fakeModel([
        [
          { type: 'text-delta', id: 't', delta: 'Half' },
          { type: 'error', error: reported },
        ],
      ]),
    )
    expect(events).toStrictEqual([{ type: 'text', text: 'Half' }])
    expect(error).toMatchObject({ op: 'model.stream', code, retryable })
  })

  test('is not kept as the cause if it quotes the response', async () => {
    const reported = new JSONParseError({ text: '{"key":Zq8xW2vLmN', cause: new SyntaxError('at Zq8x') })
    const { error } = await collect(fakeModel([[{ type: 'error', error: reported }]]))
    expect(inspect(error, { depth: 9 })).not.toContain('Zq8x')
  })

  test('never shows a key from the URL, not even in its cause', async () => {
    const call = { requestBodyValues: {}, url: 'https://api.acme.example/v1?key=Zq8xW2vLmN' }
    for (const statusCode of [undefined, 401]) {
      const failed = new APICallError({
        ...call,
        message: 'refused Zq8xW2vLmN',
        ...(statusCode && { statusCode }),
      })
      const { error } = await collect(fakeModel([[{ type: 'error', error: failed }]]))
      expect(error).toBeInstanceOf(Error)
      expect(inspect(error, { depth: 9 })).not.toContain('Zq8x')
    }
  })

  test('is retryable if the stream broke', async () => {
    const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
    const { events, error } = await collect(
      fakeModel([[{ type: 'text-delta', id: 't', delta: 'Half' }, new TypeError('terminated', { cause })]]),
    )
    expect(events).toHaveLength(1)
    expect(error).toMatchObject({
      code: 'stream_error',
      message: 'acme.chat: the connection failed: UND_ERR_SOCKET other side closed',
    })
  })
})
