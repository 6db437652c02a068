import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { stride } from '../../../../../test/size.ts'
import { agent } from '../../agent/index.ts'
import { cuttingProxy } from '../../client/cutting-proxy.test-kit.ts'
import type { ErrorFields } from '../../protocol/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { eventsOf, heldTool, untilIdle } from '../../threads/threads.test-kit.ts'
import { tool } from '../../tools/index.ts'
import { muser, storyteller, until } from '../protocols.test-kit.ts'
import { clientOf, clientTool, scripted, serveModels } from './openai.test-kit.ts'

const messages = [{ role: 'user' as const, content: 'Hi.' }]

/** The error that a request is rejected with. */
async function errorOf(request: Promise<unknown>) {
  const error: unknown = await request.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof OpenAI.APIError)) throw new Error('not an error of the API', { cause: error })
  return error
}

describe('errors have the format of OpenAI', () => {
  test('a request without a valid key', async () => {
    const { client } = await serveModels(storyteller(), { auth: () => null })
    const error = await errorOf(client.chat.completions.create({ model: 'storyteller', messages }))
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(error.error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_api_key', param: null })
    expect(error.requestID).toMatch(/^req_/)
  })

  test('a model that does not exist', async () => {
    const { client } = await serveModels(storyteller())
    const error = await errorOf(client.chat.completions.create({ model: 'gpt-4.1', messages, stream: true }))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'model_not_found', param: 'model' })
  })

  test('an invalid request', async () => {
    const { client, app } = await serveModels(storyteller())
    const error = await errorOf(client.chat.completions.create({ model: 'storyteller', messages, n: 2 }))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ type: 'invalid_request_error', param: 'n', code: null })
    expect(error.message).toContain("'n' must be 1")
    expect((await app.threads()).threads).toEqual([])
  })

  test('a tool choice that names no tool, and an invalid schema', async () => {
    const { client } = await serveModels(storyteller())
    const params = { model: 'storyteller', messages }
    const choice = { type: 'function' as const, function: { name: 'pick' } }
    expect(await errorOf(client.chat.completions.create({ ...params, tool_choice: choice }))).toMatchObject({
      status: 400,
      param: 'tool_choice',
    })
    const parameters = { type: 'nothing' }
    const tools = [{ type: 'function' as const, function: { name: 'pick', parameters } }]
    expect(await errorOf(client.chat.completions.create({ ...params, tools }))).toMatchObject({
      status: 400,
      param: 'tools',
    })
  })

  test('too many requests', async () => {
    const { client } = await serveModels(storyteller(), { limits: { requestsPerSecond: 1 } })
    const ask = () => client.models.list()
    let error: InstanceType<typeof OpenAI.APIError> | undefined
    await until(async () => {
      await ask().catch((thrown) => {
        error = thrown
      })
      return error !== undefined
    })
    expect(error).toBeInstanceOf(OpenAI.RateLimitError)
    expect(error).toMatchObject({ type: 'requests', code: 'rate_limit_exceeded' })
    expect(Number(error?.headers?.get('retry-after'))).toBeGreaterThan(0)
  })

  test.each([
    ['GET', '/v1/chat/completions', 405],
    ['POST', '/v1/chat/other', 404],
  ])('%s %s', async (method, path, status) => {
    const { url } = await serveModels(storyteller())
    const response = await fetch(url + path, { method })
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: null },
    })
  })

  const failing = (error: Partial<ErrorFields>, before = '') =>
    agent({
      name: 'miller',
      model: scriptedModel(() => [...(before ? [{ text: before }] : []), { error }]),
      retry: { attempts: 1 },
    })

  test.each<[code: ErrorFields['code'], status: number, type: string, shown: string | null]>([
    ['rate_limit', 429, 'requests', 'rate_limit_exceeded'],
    ['overloaded', 503, 'server_error', 'server_error'],
    ['context_overflow', 400, 'invalid_request_error', 'context_length_exceeded'],
    ['auth', 502, 'server_error', null],
    ['llm_error', 502, 'server_error', null],
  ])('a provider that fails with %s before it has said anything', async (code, status, type, shown) => {
    const { client } = await serveModels(failing({ code, message: 'it broke', retryable: false }))
    for (const stream of [false, true]) {
      const error = await errorOf(client.chat.completions.create({ model: 'miller', messages, stream }))
      expect(error).toMatchObject({ status, type, code: shown })
      expect(error.message).toContain('it broke')
    }
  })

  test('a provider that fails in the middle of a stream', async () => {
    const { client } = await serveModels(failing({ code: 'llm_error', message: 'it broke' }, 'Once upon'))
    const stream = await client.chat.completions.create({ model: 'miller', messages, stream: true })
    let text = ''
    const read = async () => {
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    }
    const error = await errorOf(read())
    expect(error).toMatchObject({ type: 'server_error', message: expect.stringContaining('it broke') })
    expect(text).toBe('Once upon')
  })
})

describe('a provider whose stream breaks after a call of the client', () => {
  async function serveBroken() {
    const model = scriptedModel((_, index) =>
      index === 0
        ? [{ call: 'pick', input: { of: 'sky' }, id: 'call_1' }, { error: { code: 'stream_error' } }]
        : [{ call: 'pick', input: { of: 'sea' }, id: 'call_2' }],
    )
    const { client } = await serveModels(agent({ name: 'miller', model, retry: { baseMs: 1 } }))
    return {
      completions: client.chat.completions,
      params: { model: 'miller', messages, tools: [clientTool('pick')] },
    }
  }

  test('makes a stream fail, so that the client does not run the call', async () => {
    const { completions, params } = await serveBroken()
    const error = await errorOf(completions.stream(params).finalChatCompletion())
    expect(error.message).toContain('after a tool call had been sent')
  })

  test('is repaired in an answer that is not streamed', async () => {
    const { completions, params } = await serveBroken()
    const { choices } = await completions.create(params)
    expect(choices[0]?.message.tool_calls).toMatchObject([{ id: 'call_2' }])
  })
})

describe('a client that disconnects', () => {
  const outcomesOf = async (thread: Parameters<typeof untilIdle>[0]) =>
    eventsOf(await thread.read(), 'run-end').map(({ outcome }) => outcome)

  test('stops the run of a stream', async () => {
    const { client, app, threadOf } = await serveModels(muser(), { openai: { graceMs: 20 } })
    const stream = client.chat.completions.stream({ model: 'muser', messages })
    stream.on('content', () => stream.abort())
    await expect(stream.done()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError)
    const thread = threadOf((await app.threads()).threads[0]?.id as string)
    await untilIdle(thread)
    expect(await outcomesOf(thread)).toEqual(['canceled'])
  })

  test.each([false, true])('stops a run that has no output yet, with stream: %s', async (stream) => {
    const silent = scripted(() => [{ hang: true }])
    const { client, app, threadOf } = await serveModels(silent, { openai: { graceMs: 20 } })
    const controller = new AbortController()
    const params = { model: 'miller', messages, stream }
    const asked = client.chat.completions.create(params, { signal: controller.signal })
    const aborted = expect(asked).rejects.toBeInstanceOf(OpenAI.APIUserAbortError)
    await until(async () => (await app.threads()).threads[0]?.status === 'running')
    controller.abort()
    await aborted
    const thread = threadOf((await app.threads()).threads[0]?.id as string)
    await untilIdle(thread)
    expect(await outcomesOf(thread)).toEqual(['canceled'])
  })

  test("leaves the run alone with onDisconnect: 'continue'", async () => {
    const held = heldTool('wait')
    const miller = scripted(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : [{ text: 'Wait.' }, { call: 'wait' }]),
      [held.tool],
    )
    const { client, threadOf } = await serveModels(miller, { openai: { onDisconnect: 'continue' } })
    const { data, response } = await client.chat.completions
      .create({ model: 'miller', messages, stream: true })
      .withResponse()
    for await (const { choices } of data) if (choices[0]?.delta.content) data.controller.abort()
    await held.startedTimes(1)
    held.runs[0]?.release()
    const thread = threadOf(response.headers.get('x-thread-id') as string)
    await untilIdle(thread)
    expect(await outcomesOf(thread)).toEqual(['completed'])
  })

  test('a stream that another client stops ends with an error', async () => {
    const { client, threadOf } = await serveModels(muser())
    const { data, response } = await client.chat.completions
      .create({ model: 'muser', messages, stream: true })
      .withResponse()
    const thread = threadOf(response.headers.get('x-thread-id') as string)
    const read = async () => {
      for await (const { choices } of data) if (choices[0]?.delta.content) await thread.stop('enough')
    }
    expect((await errorOf(read())).message).toContain('enough')
  })
})

describe('a connection that is cut', () => {
  /** An agent that runs a tool once for each message. */
  async function serveCounted() {
    let runs = 0
    const count = tool({
      name: 'count',
      description: 'Counts',
      input: z.object({}),
      run: () => `run ${++runs}`,
    })
    const miller = scripted(
      ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'It was counted.' : [{ text: 'I count.' }, { call: 'count' }],
      [count],
      { paceMs: 1 },
    )
    const given = await serveModels(miller)
    return { ...given, runs: () => runs }
  }

  /** About the size of an answer with its headers. */
  const answerBytes = { false: 1250, true: 3300 }

  test.each([false, true])('never makes a tool run twice (stream: %s)', async (stream) => {
    const { port, runs } = await serveCounted()
    let asked = 0
    for (let bytes = 1; bytes < answerBytes[`${stream}`]; bytes += 23 * stride) {
      await using proxy = await cuttingProxy({ port, bytes: (nth) => (nth === 0 ? bytes : undefined) })
      // The SDK sends a request again if it gets no headers.
      const client = clientOf(`${proxy.url}/v1`, { maxRetries: 2 })
      const params = { model: 'miller', messages: [{ role: 'user' as const, content: `Hi ${bytes}.` }] }
      const options = { headers: { 'idempotency-key': `key ${bytes}` } }
      const ask = async () => {
        if (!stream)
          return (await client.chat.completions.create(params, options)).choices[0]?.message.content
        return client.chat.completions.stream(params, options).finalContent()
      }
      expect(await ask().catch(ask)).toBe('I count.\n\nIt was counted.')
      expect(runs()).toBe(++asked)
    }
  })

  test('is an error for the client, and never an answer that looks complete', async () => {
    const { port } = await serveCounted()
    let cuts = 0
    for (let bytes = 700; bytes < answerBytes.true; bytes += 37 * stride) {
      await using proxy = await cuttingProxy({ port, bytes: () => bytes })
      const client = clientOf(`${proxy.url}/v1`)
      const stream = client.chat.completions.stream({ model: 'miller', messages })
      const text = await stream.finalContent().catch(() => undefined)
      if (text !== undefined) expect(text).toBe('I count.\n\nIt was counted.')
      else cuts++
    }
    expect(cuts).toBeGreaterThan(0)
  })

  test('before the headers is repaired by the SDK, without another run', async () => {
    const { port, runs } = await serveCounted()
    await using proxy = await cuttingProxy({ port, bytes: (nth) => (nth === 0 ? 30 : undefined) })
    const client = clientOf(`${proxy.url}/v1`, { maxRetries: 1 })
    const { choices } = await client.chat.completions.create({ model: 'miller', messages })
    expect(choices[0]?.message.content).toBe('I count.\n\nIt was counted.')
    expect([runs(), proxy.count]).toEqual([1, 2])
  })
})

test('answers that take long do not count as requests in progress, but as streams', async () => {
  const held = heldTool('wait')
  const miller = scripted(
    ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'wait' }]),
    [held.tool],
  )
  const { client } = await serveModels(miller, { limits: { requestsAtOnce: 1, streams: 2 } })
  const ask = () => client.chat.completions.create({ model: 'miller', messages })
  const first = ask()
  await held.startedTimes(1)
  const second = ask()
  await held.startedTimes(2)
  expect(await errorOf(ask())).toMatchObject({ status: 429 })
  for (const { release } of held.runs) release()
  const answers = await Promise.all([first, second])
  expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(['Done.', 'Done.'])
})
