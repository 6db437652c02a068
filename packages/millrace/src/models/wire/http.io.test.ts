import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import type { HttpCall } from './http.ts'
import { openStream } from './http.ts'
import type { Fetch } from './http-answer.ts'
import { callTo, failureFrom, httpServer, key, nobody, tcpServer, textOf, ways } from './wire.test-kit.ts'

const sse = { 'content-type': 'text/event-stream' }

const answering =
  (body: BodyInit | null, init: ResponseInit = {}): Fetch =>
  async () =>
    new Response(body, init)

const json = (body: unknown) =>
  answering(JSON.stringify(body), { headers: { 'content-type': 'application/json; charset=utf-8' } })

const failureOfAnswer = (fetch: Fetch) => failureFrom(openStream(callTo('https://host.test/v1', { fetch })))

describe.each(ways)('by %s', (_, usual) => {
  const callBy = (url: string, over: Partial<HttpCall> = {}) => callTo(url, { fetch: usual, ...over })

  describe('a request', () => {
    test('is a POST of JSON that asks for a stream', async () => {
      await using server = await httpServer((_, response) => response.writeHead(200, sse).end('data: 1\n\n'))
      const stream = await openStream(callBy(`${server.url}/v1/x?api-version=1`, { body: { text: 'é🙂' } }))
      expect(await textOf(stream)).toBe('data: 1\n\n')
      expect(server.requests).toMatchObject([
        {
          method: 'POST',
          url: '/v1/x?api-version=1',
          headers: {
            'content-type': 'application/json',
            accept: 'text/event-stream',
            authorization: `Bearer ${key}`,
          },
          body: { text: 'é🙂' },
        },
      ])
    })

    test('may have another content type and accept something else', async () => {
      await using server = await httpServer((_, response) => response.writeHead(200, sse).end())
      await openStream(
        callBy(server.url, { headers: { accept: '*/*', 'content-type': 'application/json; v=2' } }),
      )
      expect(server.requests[0]?.headers).toMatchObject({
        accept: '*/*',
        'content-type': 'application/json; v=2',
      })
    })
  })

  describe('a server that cannot be reached', () => {
    test('is named, and may be there the next time', async () => {
      const url = await nobody()
      const error = await failureFrom(openStream(callBy(url)))
      expect(error).toMatchObject({ code: 'stream_error', retryable: true, status: undefined })
      expect(error.message).toMatch(
        /^them: cannot reach 127\.0\.0\.1:\d+ \(is the server running\?\): ECONNREFUSED/,
      )
      expect(error.cause).toBeInstanceOf(Error)
    })

    test.each([
      ['resets the connection', (socket) => socket.resetAndDestroy()],
      ['hangs up', (socket) => socket.end()],
      ['hangs up within the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Ty')],
      ['talks something else', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ] satisfies [string, Parameters<typeof tcpServer>[0]][])('is one that %s', async (_, onRequest) => {
      await using server = await tcpServer(onRequest)
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'stream_error', retryable: true })
      expect(error.message).toContain(`cannot reach ${server.host}`)
    })

    const throwing = (thrown: unknown) => failureOfAnswer(() => Promise.reject(thrown))
    const caused = (code: string, message: string) =>
      new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) })

    test('in time is a time-out, and may be quicker the next time', async () => {
      for (const error of [
        await throwing(caused('UND_ERR_CONNECT_TIMEOUT', 'Connect Timeout Error')),
        await throwing(caused('UND_ERR_HEADERS_TIMEOUT', 'Headers Timeout Error')),
        await throwing(caused('ETIMEDOUT', 'connect ETIMEDOUT')),
      ])
        expect(error).toMatchObject({ code: 'timeout', retryable: true })
    })

    test('because fetch itself did not wait any longer says so', async () => {
      for (const code of ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']) {
        const { message } = await throwing(caused(code, 'Timeout Error'))
        expect(message).toContain('fetch did not wait any longer')
        expect(message).not.toContain('is the server running')
      }
    })

    test('for a reason that lasts is not tried again', async () => {
      for (const error of [
        await throwing(caused('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')),
        await throwing(caused('ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number')),
        await throwing(new TypeError('Headers.append: "x" is an invalid header value.')),
        await throwing(new TypeError('Failed to parse URL from /v1')),
      ])
        expect(error).toMatchObject({ code: 'stream_error', retryable: false })
    })

    test('fails as our error whatever its fetch throws', async () => {
      for (const thrown of [null, undefined, 'no', 42, {}, Object.create(null)])
        expect(await throwing(thrown)).toMatchObject({ code: 'stream_error', retryable: true })
      const atOnce: Fetch = () => {
        throw new Error('at once')
      }
      expect((await failureOfAnswer(atOnce)).message).toBe('them: cannot reach host.test: at once')
    })

    test.each([
      ['in its message', new TypeError(`Headers.append: "Bearer ${key}\n" is an invalid header value.`)],
      ['in its cause', new TypeError('fetch failed', { cause: new Error(`bad header: ${key}`) })],
      [
        'in its fields',
        Object.assign(new Error('no'), { config: { headers: { authorization: `Bearer ${key}` } } }),
      ],
      ['in its request', Object.assign(new Error('no'), { request: new Headers({ 'x-api-key': key }) })],
      ['far down', new Error('1', { cause: new Error('2', { cause: new Error('3', { cause: { key } }) }) })],
    ])('shows no key that its fetch threw %s', async (_, thrown) => {
      const error = await throwing(thrown)
      expect(error.code).toBe('stream_error')
      expect(error.cause).toBeUndefined()
    })
  })

  describe('an answer that is no stream', () => {
    test('but a page says what to look at', async () => {
      const html = '<!doctype html>\n<html><title>Sign in</title></html>'
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
      )
      const error = await failureFrom(openStream(callBy(`${server.url}/v1`)))
      expect(error).toMatchObject({ code: 'llm_error', retryable: false, status: 200 })
      expect(error.message).toContain(
        'answered 200 with text/html; charset=utf-8 instead of a stream of events',
      )
      expect(error.message).toContain(`${server.url} sent: <!doctype html> <html>`)
    })

    test.each([
      ['Chat Completions', { id: 'c', object: 'chat.completion', choices: [{ message: { content: 'hi' } }] }],
      ['Chat Completions, with an error of null', { error: null, choices: [{ message: { content: 'hi' } }] }],
      ['Responses', { id: 'r', object: 'response', error: null, output: [{ type: 'message', content: [] }] }],
      ['Messages', { id: 'm', type: 'message', content: [{ type: 'text', text: 'an "error": none' }] }],
      ['more than is read of it', { id: 'm', content: [{ type: 'text', text: 'x'.repeat(100_000) }] }],
    ])('but whole is an answer of a server that cannot stream: %s', async (_, body) => {
      const error = await failureOfAnswer(json(body))
      expect(error).toMatchObject({ code: 'streaming_not_supported', retryable: false })
      expect(error.message).toContain('fromGenerate()')
    })

    test.each([
      ['{"error":{…}}', { error: { message: 'no', type: 'authentication_error' } }, 'auth'],
      ['the error not first', { id: 'x', error: { message: 'slow', code: 429 } }, 'rate_limit'],
      [
        '{"type":"error"}',
        { type: 'error', error: { type: 'overloaded_error', message: 'no' } },
        'overloaded',
      ],
      ['a list', [{ error: { code: 429, message: 'no', status: 'RESOURCE_EXHAUSTED' } }], 'rate_limit'],
      [
        '{"object":"error"}',
        { object: 'error', message: 'no', type: 'NotFoundError', code: 404 },
        'llm_error',
      ],
      ['a string', { error: 'Unexpected endpoint or method. (POST /chat/completions)' }, 'llm_error'],
      ['a detail', { detail: 'Unauthorized' }, 'llm_error'],
    ])('but a failure is told as one: %s', async (_, body, code) => {
      const error = await failureOfAnswer(json(body))
      expect(error).toMatchObject({ code })
      expect(error.message).toMatch(/^them failed: /)
    })

    test.each([
      ['JSON that says nothing', json({ ok: true })],
      ['a number', json(7)],
      ['broken JSON', answering('{"a', { headers: { 'content-type': 'application/json' } })],
      [
        'a stream that is called JSON',
        answering('data: {"choices":[]}\n\n', { headers: { 'content-type': 'application/json' } }),
      ],
      ['lines of JSON', answering('{}\n{}\n', { headers: { 'content-type': 'application/x-ndjson' } })],
      ['nothing', answering(null, { headers: { 'content-type': 'text/plain' } })],
    ])('and nothing that is known either: %s', async (_, fetch) => {
      expect(await failureOfAnswer(fetch)).toMatchObject({ code: 'llm_error', retryable: false, status: 200 })
    })

    test('shows no key, nor the beginning of one', async () => {
      for (let at = 100; at <= 120; at++) {
        const page = `${'x'.repeat(at)}${key}`
        const error = await failureOfAnswer(answering(page, { headers: { 'content-type': 'text/html' } }))
        expect(error.message).not.toContain(key.slice(0, 5))
      }
    })
  })

  test('a redirect is not followed: the key and the conversation stay here', async () => {
    await using other = await httpServer((_, response) => response.writeHead(200, sse).end())
    for (const status of [301, 302, 307, 308]) {
      await using server = await httpServer((_, response) =>
        response.writeHead(status, { location: `${other.url}/elsewhere?token=${key}` }).end('moved'),
      )
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'llm_error', retryable: false, status })
      expect(error.message).toContain(`sends us on to ${other.url}, where no key is taken: set the baseURL`)
    }
    expect(other.requests).toStrictEqual([])
    expect((await failureOfAnswer(answering(null, { status: 304 }))).status).toBe(304)
  })

  describe('a stream', () => {
    test.each([
      'text/event-stream',
      'text/event-stream; charset=utf-8',
      'Text/Event-Stream',
      'text/event-stream;charset=UTF-8',
    ])('is known by its type: %s', async (type) => {
      const fetch = answering('data: 1\n\n', { headers: { 'content-type': type } })
      const stream = await openStream(callBy('https://host.test', { fetch }))
      expect(await textOf(stream)).toBe('data: 1\n\n')
    })

    test('is taken without any type too', async () => {
      await using server = await tcpServer((socket) => {
        socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: 1\n\n')
      })
      const stream = await openStream(callBy(server.url))
      expect(await textOf(stream)).toBe('data: 1\n\n')
    })

    test('may have no body', async () => {
      const stream = await openStream(
        callBy('https://host.test', { fetch: answering(null, { status: 204 }) }),
      )
      expect(await textOf(stream)).toBe('')
    })
  })

  describe('a refusal', () => {
    test('is told with its status, its words and its wait', async () => {
      await using server = await httpServer((_, response) =>
        response
          .writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' })
          .end(`{"error":{"message":"slower, ${key}"}}`),
      )
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'rate_limit', retryable: true, status: 429, retryAfterMs: 7000 })
      expect(error.message).toBe('them answered 429: slower, [key]')
    })

    test('says where its key comes from', async () => {
      const error = await failureOfAnswer(answering('{"error":"no"}', { status: 401 }))
      expect(error).toMatchObject({ code: 'auth', status: 401 })
      expect(error.message).toContain('(THEIR_KEY)')
    })

    test('may have no body', async () => {
      expect((await failureOfAnswer(answering(null, { status: 500 }))).message).toBe('them answered 500')
    })

    test('that stalls is not waited for', async () => {
      vi.useFakeTimers()
      try {
        const cancelled = vi.fn()
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode('the first words')),
          cancel: cancelled,
        })
        const failed = failureOfAnswer(answering(body, { status: 503 }))
        await vi.advanceTimersByTimeAsync(60_000)
        expect((await failed).message).toBe('them answered 503: the first words')
        expect(cancelled).toHaveBeenCalledOnce()
        expect(vi.getTimerCount()).toBe(0)
      } finally {
        vi.useRealTimers()
      }
    })

    test('that never ends is not read to its end', async () => {
      let pulled = 0
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled += 1024
          controller.enqueue(new Uint8Array(1024).fill(120))
        },
      })
      expect(await failureOfAnswer(answering(body, { status: 500 }))).toMatchObject({ status: 500 })
      expect(pulled).toBeLessThan(100_000)
    })

    test('that breaks off is told as far as it came', async () => {
      await using server = await httpServer((_, response) => {
        response.writeHead(500, { 'content-length': '1000' })
        response.write('the first words', () => response.socket?.resetAndDestroy())
      })
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'llm_error', status: 500, retryable: true })
    })
  })

  describe('an abort', () => {
    test('before the request sends none', async () => {
      const fetch = vi.fn(answering('', { headers: sse }))
      const error = await failureFrom(
        openStream(callBy('https://host.test', { fetch, signal: AbortSignal.abort() })),
      )
      expect(error).toMatchObject({ code: 'stream_interrupted', retryable: false })
      expect(fetch).not.toHaveBeenCalled()
    })

    test('while the answer is waited for closes the socket', async () => {
      const asked = Promise.withResolvers<void>()
      await using server = await tcpServer(() => asked.resolve())
      const controller = new AbortController()
      const failed = failureFrom(openStream(callBy(server.url, { signal: controller.signal })))
      await asked.promise
      controller.abort()
      expect(await failed).toMatchObject({ code: 'stream_interrupted', message: 'the request was aborted' })
      await server.hungUp
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    })

    test('is what it was, whatever the reason and whatever fetch throws', async () => {
      const controller = new AbortController()
      const fetch: Fetch = async () => {
        controller.abort(new Error(`because of ${key}`))
        throw controller.signal.reason
      }
      const error = await failureFrom(
        openStream(callBy('https://host.test', { fetch, signal: controller.signal })),
      )
      expect(error.code).toBe('stream_interrupted')
      expect(error.cause).toBeUndefined()
    })
  })
})
