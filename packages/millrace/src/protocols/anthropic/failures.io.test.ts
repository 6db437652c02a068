import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { stride } from '../../../../../test/size.ts'
import { agent } from '../../agent/index.ts'
import { cuttingProxy } from '../../client/cutting-proxy.test-kit.ts'
import type { ErrorFields } from '../../protocol/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { eventsOf, untilIdle } from '../../threads/threads.test-kit.ts'
import { muser, storyteller, until } from '../protocols.test-kit.ts'
import { clientOf, pick, scripted, searchTool, serveMessages, textIn } from './anthropic.test-kit.ts'

const messages = [{ role: 'user' as const, content: 'Hi.' }]
const ask = { max_tokens: 1000, messages }

/** The error that a request is rejected with. */
async function errorOf(request: Promise<unknown>) {
  const error: unknown = await request.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof Anthropic.APIError)) throw new Error('not an error of the API', { cause: error })
  return error
}

describe('errors have the format of Anthropic', () => {
  test('a request without a valid key', async () => {
    const { client } = await serveMessages(storyteller(), { auth: () => null })
    const error = await errorOf(client.messages.create({ model: 'storyteller', ...ask }))
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError)
    expect(error).toMatchObject({ type: 'authentication_error', requestID: expect.stringMatching(/^req_/) })
    expect(error.error).toMatchObject({ type: 'error', request_id: error.requestID })
  })

  test.each([
    ['authorization', 'Bearer right'],
    // What SDKs before 1.0, the AI SDK and LangChain send.
    ['x-api-key', 'right'],
  ])('a key in %s is for the server to check', async (name, key) => {
    const auth = ({ headers }: Request) => (headers.get(name) === key ? { user: 'ann' } : null)
    const { url } = await serveMessages(storyteller(), { auth })
    const list = (value: string) => clientOf(url, { defaultHeaders: { [name]: value } }).models.list()
    expect((await list(key)).data).toHaveLength(1)
    expect(await errorOf(list('wrong'))).toMatchObject({ status: 401 })
  })

  test('a model that does not exist', async () => {
    const { client } = await serveMessages(storyteller())
    for (const stream of [false, true]) {
      const error = await errorOf(client.messages.create({ model: 'claude-opus-5', ...ask, stream }))
      expect(error).toBeInstanceOf(Anthropic.NotFoundError)
      expect(error.type).toBe('not_found_error')
    }
    const counted = client.messages.countTokens({ model: 'claude-opus-5', messages })
    expect(await errorOf(counted)).toMatchObject({ status: 404 })
  })

  test('an invalid request, which has no effect', async () => {
    const { client, app } = await serveMessages(storyteller())
    const error = await errorOf(client.messages.create({ model: 'storyteller', ...ask, max_tokens: 0 }))
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error' })
    expect(error.message).toContain('max_tokens: must be')
    expect((await app.threads()).threads).toEqual([])
  })

  test('a body that is too large', async () => {
    const { url } = await serveMessages(storyteller())
    const body = JSON.stringify({ model: 'storyteller', ...ask, system: 'x'.repeat(33 * 1024 * 1024) })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'request_too_large' } })
  })

  test('too many requests', async () => {
    const { client } = await serveMessages(storyteller(), { limits: { requestsPerSecond: 1 } })
    let error: InstanceType<typeof Anthropic.APIError> | undefined
    await until(async () => {
      await client.models.list().catch((thrown) => {
        error = thrown
      })
      return error !== undefined
    })
    expect(error).toBeInstanceOf(Anthropic.RateLimitError)
    expect(error).toMatchObject({ type: 'rate_limit_error' })
    expect(Number(error?.headers?.get('retry-after'))).toBeGreaterThan(0)
  })

  test.each([
    ['GET', '/v1/messages', 405, 'invalid_request_error'],
    ['POST', '/v1/messages/other', 404, 'not_found_error'],
  ])('%s %s', async (method, path, status, type) => {
    const { url } = await serveMessages(storyteller())
    const response = await fetch(url + path, { method })
    expect(response.status).toBe(status)
    const message = expect.any(String)
    expect(await response.json()).toEqual({ type: 'error', error: { type, message }, request_id: message })
  })

  const failing = (error: Partial<ErrorFields>, before = '') =>
    agent({
      name: 'miller',
      model: scriptedModel(() => [...(before ? [{ text: before }] : []), { error }]),
      retry: { attempts: 1 },
    })

  test.each<[code: ErrorFields['code'], status: number, type: string, message: string]>([
    ['rate_limit', 429, 'rate_limit_error', 'it broke'],
    ['overloaded', 529, 'overloaded_error', 'it broke'],
    ['context_overflow', 400, 'invalid_request_error', 'prompt is too long: it broke'],
    ['auth', 502, 'api_error', 'it broke'],
    ['llm_error', 502, 'api_error', 'it broke'],
  ])('a provider that fails with %s before it has said anything', async (code, status, type, message) => {
    const { client } = await serveMessages(failing({ code, message: 'it broke', retryable: false }))
    for (const stream of [false, true]) {
      const error = await errorOf(client.messages.create({ model: 'miller', ...ask, stream }))
      expect(error).toMatchObject({ status, type, apiMessage: message })
      if (status === 529) expect(error.headers?.get('retry-after')).toBe('1')
    }
  })

  test('a provider that fails in the middle of a stream', async () => {
    const { client } = await serveMessages(failing({ code: 'overloaded', message: 'it broke' }, 'Once upon'))
    const stream = client.messages.stream({ model: 'miller', ...ask })
    let text = ''
    stream.on('text', (delta) => {
      text += delta
    })
    const error = await errorOf(stream.finalMessage())
    expect(error).toMatchObject({ type: 'overloaded_error', apiMessage: 'it broke' })
    expect(text).toBe('Once upon')
  })
})

describe('a client that disconnects', () => {
  const endsOf = async (thread: Parameters<typeof untilIdle>[0]) =>
    eventsOf(await thread.read(), 'run-end').map(({ outcome }) => outcome)

  test.each(['stop', 'continue'] as const)('from a stream: %s', async (onDisconnect) => {
    const { client, app } = await serveMessages(muser(), { protocol: { onDisconnect, graceMs: 20 } })
    const stream = client.messages.stream({ model: 'muser', ...ask })
    stream.on('text', () => stream.abort())
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError)
    const [info] = (await app.threads()).threads
    const thread = app.thread(info?.id ?? '')
    if (onDisconnect === 'continue') {
      await client.models.list()
      expect((await thread.info()).status).toBe('running')
      await thread.stop()
    }
    await untilIdle(thread)
    expect(await endsOf(thread)).toEqual(['canceled'])
  })

  test('stops the run of a message that is not streamed', async () => {
    const { client, app } = await serveMessages(muser(), { protocol: { graceMs: 20 } })
    const controller = new AbortController()
    const asked = client.messages.create({ model: 'muser', ...ask }, { signal: controller.signal })
    const aborted = expect(asked).rejects.toBeInstanceOf(Anthropic.APIUserAbortError)
    await until(async () => (await app.threads()).threads[0]?.status === 'running')
    controller.abort()
    await aborted
    const thread = app.thread((await app.threads()).threads[0]?.id ?? '')
    await untilIdle(thread)
    expect(await endsOf(thread)).toEqual(['canceled'])
  })

  test.each([false, true])('gets an error if another client stops the run (stream: %s)', async (isStream) => {
    const { url, app } = await serveMessages(muser())
    // The SDK repeats a request that failed on the server. This one must not run again.
    const client = clientOf(url, { maxRetries: 2 })
    const params = { model: 'muser', ...ask }
    const asked = isStream ? client.messages.stream(params).finalMessage() : client.messages.create(params)
    const failed = errorOf(asked)
    await until(async () => (await app.threads()).threads[0]?.status === 'running')
    const thread = app.thread((await app.threads()).threads[0]?.id ?? '')
    await until(async () => (await thread.read()).some(({ event }) => event.type === 'text'))
    await thread.stop('stopped by a test')
    expect((await failed).message).toContain('stopped')
    await untilIdle(thread)
    expect(await endsOf(thread)).toEqual(['canceled'])
  })
})

describe('a call whose generation breaks off', () => {
  async function serveBroken() {
    let attempt = 0
    const model = scriptedModel(() => {
      attempt++
      if (attempt % 2 === 0) return [{ call: 'pick', input: { of: 'sky' }, id: 'call_2' }]
      return [{ call: 'pick', raw: '{"of":"s', cut: true, id: 'call_1' }, { error: { code: 'stream_error' } }]
    })
    const { client } = await serveMessages(
      agent({ name: 'miller', model, retry: { attempts: 2, baseMs: 1 } }),
    )
    return { client, params: { model: 'miller', ...ask, tools: [pick] } }
  }

  test('is never given to the client', async () => {
    const { client, params } = await serveBroken()
    const answers = [
      await client.messages.create(params),
      await client.messages.stream(params).finalMessage(),
    ]
    for (const { content } of answers)
      expect(content).toMatchObject([{ type: 'tool_use', id: 'call_2', input: { of: 'sky' } }])
  })

  test('cannot be run by a client that gets its input as it is written', async () => {
    const { client, params } = await serveBroken()
    const tools = [{ ...pick, eager_input_streaming: true }]
    // The SDK completes partial JSON. It must not be able to.
    await expect(client.messages.stream({ ...params, tools }).finalMessage()).rejects.toThrow()
  })
})

describe('a connection that is cut', () => {
  /** An agent that runs a tool once for each message. */
  async function serveCounted() {
    const { search, runs } = searchTool()
    const miller = scripted(
      ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'There it is.'
          : [{ text: 'I look.' }, { call: 'search', input: { of: 'rye' } }],
      [search],
    )
    return { ...(await serveMessages(miller)), runs }
  }

  /** About the size of an answer with its headers. */
  const answerBytes = { false: 2000, true: 3500 }

  test.each([false, true])('never makes a tool run twice (stream: %s)', async (stream) => {
    const { port, runs } = await serveCounted()
    let asked = 0
    for (let bytes = 1; bytes < answerBytes[`${stream}`]; bytes += 23 * stride) {
      await using proxy = await cuttingProxy({ port, bytes: (nth) => (nth === 0 ? bytes : undefined) })
      // The SDK sends a request again if it gets no headers.
      const client = clientOf(proxy.url, { maxRetries: 2 })
      const params = {
        model: 'miller',
        max_tokens: 9,
        messages: [{ role: 'user' as const, content: `${bytes}` }],
      }
      const options = { headers: { 'idempotency-key': `key ${bytes}` } }
      const get = () =>
        stream
          ? client.messages.stream(params, options).finalMessage()
          : client.messages.create(params, options)
      expect(textIn(await get().catch(get))).toBe('I look.There it is.')
      expect(runs).toHaveLength(++asked)
    }
  })

  test('is an error for the client, and never an answer that looks complete', async () => {
    const { port } = await serveCounted()
    let cuts = 0
    for (let bytes = 900; bytes < answerBytes.true; bytes += 37 * stride) {
      await using proxy = await cuttingProxy({ port, bytes: () => bytes })
      const stream = clientOf(proxy.url).messages.stream({ model: 'miller', ...ask })
      const message = await stream.finalMessage().catch(() => undefined)
      if (message) expect(textIn(message)).toBe('I look.There it is.')
      else cuts++
    }
    expect(cuts).toBeGreaterThan(0)
  })
})
