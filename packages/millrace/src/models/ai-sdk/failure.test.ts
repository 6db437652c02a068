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
import { handMade, hear } from './ai-sdk.test-kit.ts'

/** A model whose call fails. */
const failing = (thrown: unknown): AISDKModel => ({
  ...handMade([]),
  doStream: () => Promise.reject(thrown),
})

const errorOf = async (model: AISDKModel) => (await hear(model)).error

/** What a provider throws, in the words of its API. */
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
      'too much',
      apiError(400, 'prompt is too long: 210000 tokens > 200000 maximum'),
      'context_overflow',
      false,
    ],
    ['no key', new LoadAPIKeyError({ message: 'Set ACME_API_KEY.' }), 'auth', false],
    ['no such part', new UnsupportedFunctionalityError({ functionality: 'audio' }), 'invalid_input', false],
    ['no such model', new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' }), 'llm_error', false],
    ['a plain error', new Error('broken'), 'llm_error', false],
    ['no error at all', 'broken', 'llm_error', true],
  ])('with %s', async (_, thrown, code, retryable) => {
    expect(await errorOf(failing(thrown))).toMatchObject({ op: 'model.stream', code, retryable })
  })

  test('is told in the provider’s words, with status and delay', async () => {
    const thrown = apiError(429, 'Slow down', { responseHeaders: { 'Retry-After': '3' } })
    expect(await errorOf(failing(thrown))).toMatchObject({
      message: 'acme.chat answered 429: Slow down',
      status: 429,
      retryAfterMs: 3000,
    })
  })

  test('because nobody was reached is a broken stream', async () => {
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

  test('of ours stays as it is', async () => {
    const own = new MillraceError({ op: 'x', code: 'timeout', message: 'late' })
    expect(await errorOf(failing(own))).toBe(own)
  })

  test('does not tell keys, neither those it was given nor those it looks like', async () => {
    const settings = { headers: { 'x-acme-key': 'open-sesame-123' } }
    const thrown = [
      apiError(400, 'bad open-sesame-123 and sk-proj-0123456789abcdef'),
      new Error('cannot send header open-sesame-123 with Bearer abcdefgh12345'),
    ]
    for (const error of thrown) {
      const told = JSON.stringify((await hear(failing(error), { settings })).error)
      expect(told).toContain('[key]')
      for (const key of ['open-sesame', 'sk-proj', 'abcdefgh', 'private']) expect(told).not.toContain(key)
    }
  })
})

describe('an error in the stream', () => {
  test.each<[string, unknown, ErrorCode, boolean]>([
    [
      'that the provider understood',
      { message: 'Overloaded', type: 'overloaded_error', statusCode: 529, isRetryable: true, data: {} },
      'overloaded',
      true,
    ],
    [
      'that the provider did not understand',
      { message: 'Try later', type: 'rate_limit_error', statusCode: undefined, data: {} },
      'rate_limit',
      true,
    ],
    [
      'as the wire sent it',
      { type: 'error', error: { type: 'authentication_error', message: 'No' } },
      'auth',
      false,
    ],
    [
      'as Responses sends it',
      { type: 'response.failed', response: { error: { code: 'server_error', message: 'Oops' } } },
      'llm_error',
      true,
    ],
    ['that is text', 'it broke', 'llm_error', true],
    ['in a frame that is no JSON', new JSONParseError({ text: '{"a', cause: 0 }), 'stream_error', true],
    ['in a frame that makes no sense', new InvalidResponseDataError({ data: {} }), 'stream_error', true],
  ])('%s', async (_, reported, code, retryable) => {
    const { events, error } = await hear(
      handMade([
        [
          { type: 'text-delta', id: 't', delta: 'Half' },
          { type: 'error', error: reported },
        ],
      ]),
    )
    expect(events).toStrictEqual([{ type: 'text', text: 'Half' }])
    expect(error).toMatchObject({ op: 'model.stream', code, retryable })
  })

  test('that quotes what was sent is not passed on', async () => {
    const reported = new JSONParseError({ text: '{"key":Zq8xW2vLmN', cause: new SyntaxError('at Zq8x') })
    const { error } = await hear(handMade([[{ type: 'error', error: reported }]]))
    expect(inspect(error, { depth: 9 })).not.toContain('Zq8x')
  })

  test('never shows a key that stood in the address, nor as its cause', async () => {
    const call = { requestBodyValues: {}, url: 'https://api.acme.example/v1?key=Zq8xW2vLmN' }
    for (const statusCode of [undefined, 401]) {
      const failed = new APICallError({
        ...call,
        message: 'refused Zq8xW2vLmN',
        ...(statusCode && { statusCode }),
      })
      const { error } = await hear(handMade([[{ type: 'error', error: failed }]]))
      expect(error).toBeInstanceOf(Error)
      expect(inspect(error, { depth: 9 })).not.toContain('Zq8x')
    }
  })

  test('that breaks it is one that may be tried again', async () => {
    const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
    const { events, error } = await hear(
      handMade([[{ type: 'text-delta', id: 't', delta: 'Half' }, new TypeError('terminated', { cause })]]),
    )
    expect(events).toHaveLength(1)
    expect(error).toMatchObject({
      code: 'stream_error',
      message: 'acme.chat: the connection failed: UND_ERR_SOCKET other side closed',
    })
  })
})
