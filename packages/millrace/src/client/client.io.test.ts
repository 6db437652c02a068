import type { ServerResponse } from 'node:http'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { WebSocket as WsSocket } from 'ws'
import type * as threads from '../threads/index.ts'
import { cuttingProxy } from './cutting-proxy.test-kit.ts'
import { errorOf, fastRetry, take } from './follow.test-kit.ts'
import type * as api from './index.ts'
import type { ClientOptions, RemoteThread } from './index.ts'
import { client, toolContent } from './index.ts'
import type { LogServerOptions } from './log-server.test-kit.ts'
import { logOf, logServer } from './log-server.test-kit.ts'

function json(response: ServerResponse, status: number, body: unknown, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** A server that answers each request with the next of these responses, and then with the last. */
function answering(...answers: readonly [status: number, body: unknown, headers?: object][]) {
  const answer: LogServerOptions['answer'] = (_, response, nth) => {
    const [status, body, headers] = answers[Math.min(nth, answers.length) - 1] ?? [500, {}]
    if (status === 0) response.destroy()
    else json(response, status, body, headers)
  }
  return logServer({ answer })
}

const errorBody = (code: string, message = code) => ({ error: { code, message } })

describe('each method sends one request', () => {
  const cases: [
    name: string,
    work: (thread: RemoteThread, desk: api.Client) => Promise<unknown>,
    request: { method: string; url: string; body?: unknown },
    answer: object,
    result: unknown,
  ][] = [
    [
      'send',
      (thread) => thread.send('Hello', { mode: 'steer', key: 'k1' }),
      { method: 'POST', url: '/threads/t1/messages', body: { message: 'Hello', mode: 'steer', key: 'k1' } },
      { seq: 7 },
      7,
    ],
    [
      'stop',
      (thread) => thread.stop('enough'),
      { method: 'POST', url: '/threads/t1/stop', body: { reason: 'enough' } },
      { seq: 8 },
      8,
    ],
    [
      'approve',
      (thread) => thread.approve('call_1/call 7', { approved: true, input: { id: 2 } }),
      {
        method: 'POST',
        url: '/threads/t1/approvals/call_1%2Fcall%207',
        body: { approved: true, input: { id: 2 } },
      },
      { seq: 9 },
      9,
    ],
    [
      'send with tools of its own',
      (thread) => thread.send('Hello', { key: 'k2', request: { toolChoice: 'none' } }),
      {
        method: 'POST',
        url: '/threads/t1/messages',
        body: { message: 'Hello', key: 'k2', request: { toolChoice: 'none' } },
      },
      { seq: 7 },
      7,
    ],
    [
      'respond',
      (thread) => thread.respond('call_1/call 7', { color: 'red' }, { isError: true }),
      {
        method: 'POST',
        url: '/threads/t1/calls/call_1%2Fcall%207/result',
        body: { output: { color: 'red' }, isError: true },
      },
      { seq: 9 },
      9,
    ],
    [
      'respond without a value',
      (thread) => thread.respond('c', undefined),
      { method: 'POST', url: '/threads/t1/calls/c/result', body: { output: '' } },
      { seq: 9 },
      9,
    ],
    [
      'respond with an image',
      (thread) =>
        thread.respond(
          'c',
          toolContent([{ type: 'image', data: new Uint8Array([1]), mediaType: 'image/png' }]),
        ),
      {
        method: 'POST',
        url: '/threads/t1/calls/c/result',
        body: { content: [{ type: 'image', data: 'AQ==', mediaType: 'image/png' }] },
      },
      { seq: 9 },
      9,
    ],
    [
      'rewind',
      (thread) => thread.rewind(4, { key: 'k3', request: { toolChoice: 'none' } }),
      {
        method: 'POST',
        url: '/threads/t1/rewind',
        body: { before: 4, key: 'k3', request: { toolChoice: 'none' } },
      },
      { seq: 10 },
      10,
    ],
    [
      'read',
      (thread) => thread.read({ after: 3, limit: 2, split: true }),
      { method: 'GET', url: '/threads/t1/events?after=3&limit=2&split=true', body: '' },
      { entries: logOf(5).slice(3), head: 5 },
      logOf(5).slice(3),
    ],
    ['state', (thread) => thread.state(), { method: 'GET', url: '/threads/t1' }, { id: 't1' }, { id: 't1' }],
    [
      'threads',
      (_, desk) => desk.threads({ limit: 2, cursor: 'a=b&c', status: 'idle', search: '50% \ud83d' }),
      { method: 'GET', url: '/threads?limit=2&cursor=a%3Db%26c&status=idle&search=50%25%20%EF%BF%BD' },
      { threads: [], next: 'x' },
      { threads: [], next: 'x' },
    ],
    [
      'agents',
      (_, desk) => desk.agents(),
      { method: 'GET', url: '/agents', body: '' },
      { agents: [{ name: 'desk' }] },
      [{ name: 'desk' }],
    ],
    ['delete', (thread) => thread.delete(), { method: 'DELETE', url: '/threads/t1' }, {}, true],
    [
      'fork',
      async (thread) => (await thread.fork(4, { id: 'f1' })).id,
      { method: 'POST', url: '/threads/t1/fork', body: { at: 4, id: 'f1' } },
      { id: 'f1' },
      'f1',
    ],
    [
      'create with a history',
      async (_, desk) => {
        const image = { type: 'image', data: new Uint8Array([1]), mediaType: 'image/png' } as const
        const messages = [{ role: 'user', content: [image] }] as const
        return (await desk.create({ id: 'c1', messages, request: { toolChoice: 'none' } })).id
      },
      {
        method: 'POST',
        url: '/threads',
        body: {
          id: 'c1',
          messages: [{ role: 'user', content: [{ type: 'image', data: 'AQ==', mediaType: 'image/png' }] }],
          request: { toolChoice: 'none' },
        },
      },
      { id: 'c1' },
      'c1',
    ],
    [
      'create',
      async (_, desk) => (await desk.create({ id: 'c1', agent: 'desk', metadata: { a: 1 } })).id,
      { method: 'POST', url: '/threads', body: { id: 'c1', agent: 'desk', metadata: { a: 1 } } },
      { id: 'c1' },
      'c1',
    ],
  ]

  test.each(cases)('%s', async (_, work, request, answer, result) => {
    await using server = await answering([200, answer])
    const desk = client(`${server.url}/`, { token: 's3cret' })
    expect(await work(desk.thread('t1'), desk)).toEqual(result)
    expect(server.requests).toMatchObject([request])
    expect(server.requests[0]?.headers).toMatchObject({
      accept: 'application/json',
      authorization: 'Bearer s3cret',
    })
  })

  test('below the path of the url', async () => {
    await using server = await answering([200, {}])
    await client(`${server.url}/desk/`).thread('t1').state()
    expect(server.requests[0]?.url).toBe('/desk/threads/t1')
  })

  test('with bytes as base64', async () => {
    await using server = await answering([202, { seq: 1 }])
    const data = Uint8Array.from({ length: 20_000 }, (_, index) => index)
    const image = { type: 'image', data, mediaType: 'image/png' } as const
    await client(server.url)
      .thread('t1')
      .send({ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] })
    const content = [
      { type: 'text', text: 'What is this?' },
      { ...image, data: Buffer.from(data).toString('base64') },
    ]
    expect(server.requests[0]?.body).toMatchObject({ message: { role: 'user', content } })
  })
})

describe('a request that fails', () => {
  test('rejects with the code and message of the server, and is not retried in vain', async () => {
    await using server = await answering([409, errorBody('conflict', 'it was already denied')])
    const error = await errorOf(client(server.url).thread('t1').approve('c', { approved: true }))
    expect(error).toMatchObject({
      op: 'client.approve',
      code: 'conflict',
      message: 'it was already denied',
      status: 409,
    })
    expect(server.requests).toHaveLength(1)
  })

  test('with an internal error has its id, and is retryable', async () => {
    await using server = await answering([
      500,
      { error: { code: 'internal', message: 'something went wrong', id: 'e7' } },
    ])
    const error = await errorOf(
      client(server.url, { retry: { attempts: 1 } })
        .thread('t1')
        .state(),
    )
    expect(error).toMatchObject({
      code: 'internal',
      message: 'something went wrong (error e7)',
      retryable: true,
    })
  })

  test.each([
    [400, 'stream_error', false],
    [401, 'auth', false],
    [404, 'stream_error', true],
    [413, 'invalid_input', false],
    [429, 'rate_limit', true],
    [500, 'stream_error', true],
    [503, 'overloaded', true],
    [504, 'timeout', true],
  ])('with %d from another server gets a code', async (status, code, retryable) => {
    await using server = await answering([status, '<html>'])
    const error = await errorOf(
      client(server.url, { retry: { attempts: 1 } })
        .thread('t1')
        .state(),
    )
    expect(error).toMatchObject({ code, status, retryable })
    expect(error.message).toContain(`answered ${status}`)
  })

  test('is retried with the same key until it succeeds', async () => {
    const answers: [number, unknown][] = [
      [0, ''],
      [503, errorBody('overloaded')],
      [502, 'x'],
      [202, { seq: 3 }],
    ]
    await using server = await answering(...answers)
    const retried: string[] = []
    const desk = client(server.url, { ...fastRetry, onRetry: ({ code }) => retried.push(code) })
    expect(await desk.thread('t1').send('Hello')).toBe(3)
    const bodies = server.requests.map(({ body }) => body as { key: string })
    expect(bodies).toHaveLength(4)
    expect(new Set(bodies.map(({ key }) => key)).size).toBe(1)
    expect(bodies[0]?.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(retried).toEqual(['stream_error', 'overloaded', 'overloaded'])
  })

  test('to rewind is retried with one key, and a result is sent again', async () => {
    await using server = await answering([0, ''], [202, { seq: 3 }], [0, ''], [202, { seq: 4 }])
    const thread = client(server.url, fastRetry).thread('t1')
    expect([await thread.rewind(1), await thread.respond('c', 'x')]).toEqual([3, 4])
    const [first, second, ...results] = server.requests.map(({ body }) => body as { key?: string })
    expect(first?.key).toMatch(/^[0-9a-f-]{36}$/)
    expect(second).toEqual(first)
    expect(results).toEqual([{ output: 'x' }, { output: 'x' }])
  })

  test('is retried when its response is cut off at any byte', async () => {
    await using server = await answering([202, { seq: 3 }])
    let bytes = 0
    for (let whole = false; !whole; bytes += 11) {
      await using proxy = await cuttingProxy({
        port: server.port,
        bytes: (nth) => (nth === 0 ? bytes : undefined),
      })
      expect(await client(proxy.url, fastRetry).thread('t1').send('Hello')).toBe(3)
      whole = proxy.count === 1
    }
    expect(bytes).toBeGreaterThan(50)
  })

  test('is not retried after the last attempt, or if the server asks for too long a delay', async () => {
    await using busy = await answering([503, errorBody('overloaded')])
    const retry = { attempts: 3, baseMs: 1, maxDelayMs: 2 }
    expect((await errorOf(client(busy.url, { retry }).thread('t1').state())).code).toBe('overloaded')
    expect(busy.requests).toHaveLength(3)

    await using later = await answering([429, errorBody('rate_limit'), { 'retry-after': '3' }])
    const error = await errorOf(client(later.url, { retry }).thread('t1').state())
    expect(error).toMatchObject({ code: 'rate_limit', retryAfterMs: 3000 })
    expect(later.requests).toHaveLength(1)
  })

  test('is aborted after a timeout', async () => {
    await using server = await logServer({ answer: () => {} })
    const desk = client(server.url, { timeoutMs: 500, retry: { attempts: 2, baseMs: 1 } })
    expect(await errorOf(desk.thread('t1').state())).toMatchObject({ code: 'timeout' })
    expect(server.requests).toHaveLength(2)
  })

  test('is not retried if it may have succeeded, unless it is idempotent', async () => {
    await using lost = await answering([0, ''])
    await errorOf(client(lost.url, fastRetry).create({ id: 'mine' }))
    await errorOf(client(lost.url, fastRetry).thread('t1').fork(1, { id: 'mine' }))
    expect(lost.requests).toHaveLength(2)

    await using rejecting = await answering([503, errorBody('overloaded')], [201, { id: 'mine' }])
    expect((await client(rejecting.url, fastRetry).create({ id: 'mine' })).id).toBe('mine')
    expect(rejecting.requests).toHaveLength(2)
  })

  test('but took effect is recognized by its generated id', async () => {
    await using server = await answering([0, ''], [409, errorBody('conflict')])
    const desk = client(server.url, fastRetry)
    const thread = await desk.create({ agent: 'desk' })
    const names = server.requests.map(({ body }) => (body as { id: string }).id)
    expect(names).toEqual([thread.id, thread.id])
    const fork = await desk.thread('t1').fork(2)
    expect(fork.id).not.toBe(thread.id)
  })

  test('because the chosen id is taken is a conflict', async () => {
    await using server = await answering([409, errorBody('conflict')])
    expect((await errorOf(client(server.url).create({ id: 'mine' }))).code).toBe('conflict')
  })

  test('with 404 on delete resolves with false', async () => {
    await using server = await answering([404, errorBody('not_found')], [403, errorBody('auth')])
    const thread = client(server.url).thread('t1')
    expect(await thread.delete()).toBe(false)
    expect((await errorOf(thread.delete())).code).toBe('auth')
  })

  test('with a response that is not a JSON object says so', async () => {
    await using server = await answering([200, 'hello'])
    const error = await errorOf(
      client(server.url, { retry: { attempts: 1 } })
        .thread('t1')
        .state(),
    )
    expect(error.message).toContain('check the URL')
  })
})

test('custom fetch and WebSocket implementations work', async () => {
  const log = logOf(2)
  await using server = await logServer({ log })
  const seen: string[] = []
  const desk = client(server.url, {
    WebSocket: WsSocket,
    fetch: (url) => {
      seen.push(url)
      return Promise.resolve(Response.json({ id: 't1' }))
    },
  })
  expect(await take(desk.thread('t1').follow(), 2)).toEqual(log)
  expect(await desk.thread('t1').state()).toEqual({ id: 't1' })
  expect(seen).toEqual([`${server.url}/threads/t1`])
})

describe('invalid arguments are rejected with a hint', () => {
  const desk = client('http://127.0.0.1:1')
  const thread = desk.thread('t1')
  const wrong = (options: object) => () => client('http://127.0.0.1:1', options as ClientOptions)

  test.each([
    ['a url', () => client('127.0.0.1'), 'must look like \'http://127.0.0.1:7070\', not "127.0.0.1"'],
    ['a protocol', () => client('ftp://x'), 'must look like'],
    ['a password in it', () => client('http://a:b@x'), 'must look like'],
    [
      'an option',
      wrong({ transports: 'sse' }),
      "the client option 'transports' does not exist: did you mean 'transport'?",
    ],
    ['a transport', wrong({ transport: 'http' }), "'transport' must be 'auto' or 'websocket' or 'sse'"],
    ['a retry', wrong({ retry: { attempt: 1 } }), "did you mean 'attempts'?"],
    ['a header', wrong({ headers: { a: 1 } }), "'headers' must be an object of strings"],
    ['headers and a socket', wrong({ headers: { a: '1' }, transport: 'websocket' }), "pass a 'token'"],
    ['an id', () => desk.thread('a/b'), 'the thread id must be 1 to 128 letters'],
    ['an id with only dots', () => desk.thread('..'), 'the thread id must be'],
    ['a signal', () => thread.follow({ signal: 1 as never }), "'signal' must be an AbortSignal"],
    [
      'an until',
      () => thread.follow({ until: 'end' as never }),
      "'until' must be 'idle' or the number of an input",
    ],
  ])('%s', (_, work, message) => {
    expect(work).toThrow(message)
  })

  test.each([
    ['a mode', () => thread.send('x', { mode: 'now' as never }), "'mode' must be 'queue' or"],
    [
      'a message',
      () => thread.send({ role: 'assistant' } as never),
      "a message must be text or { role: 'user', content }",
    ],
    ['a decision', () => thread.approve('c', {} as never), "'approved' must be true or false"],
    ['no decision', () => thread.approve('c', undefined as never), "'approved' must be true or false"],
    ['a call', () => thread.approve('', { approved: true }), "'callId' must be text"],
    ['a result', () => thread.respond('', 'x'), "'callId' must be text"],
    ['a failure', () => thread.respond('c', 'x', { isError: 1 as never }), "'isError' must be true or false"],
    ['a rewind', () => thread.rewind(0), "'before' must be a whole number of at least 1, not 0"],
    ['a request', () => thread.send('x', { request: [] as never }), "'request' must be an object"],
    ['a history', () => desk.create({ messages: 'x' as never }), "'messages' must be a list of messages"],
    ['a reason', () => thread.stop(' '), "'reason' must be text"],
    ['a fork position', () => thread.fork(-1), "'at' must be a whole number of at least 0, not -1"],
    ['a limit', () => thread.read({ limit: 0 }), "'limit' must be a whole number of at least 1"],
    ['a status', () => desk.threads({ status: 'open' as never }), "'status' must be"],
    ['options', () => desk.create('desk' as never), 'create() takes an object of options, not a string'],
  ])('%s, with a rejected promise', async (_, work, message) => {
    const error = await errorOf(work())
    expect(error.code).toBe('invalid_input')
    expect(error.message).toContain(message)
  })
})

test('a thread of an app can be watched like a remote one', () => {
  expectTypeOf<threads.Thread>().toExtend<api.Followable>()
})
