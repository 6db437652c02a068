import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import type { HttpCall } from './http.ts'
import { openStream } from './http.ts'
import type { Fetch } from './http-response.ts'
import { readBody } from './send.ts'
import {
  callTo,
  failureFrom,
  httpServer,
  key,
  overEachTransport,
  tcpServer,
  unusedAddress,
} from './wire.test-kit.ts'

const sse = { 'content-type': 'text/event-stream' }

const respondingWith =
  (body: BodyInit | null, init: ResponseInit = {}): Fetch =>
  async () =>
    new Response(body, init)

const json = (body: unknown) =>
  respondingWith(JSON.stringify(body), { headers: { 'content-type': 'application/json; charset=utf-8' } })

const failureOfResponse = (fetch: Fetch) => failureFrom(openStream(callTo('https://host.test/v1', { fetch })))

overEachTransport('by %s', (usual) => {
  const callBy = (url: string, over: Partial<HttpCall> = {}) => callTo(url, { fetch: usual, ...over })

  describe('a request', () => {
    test('is a JSON POST that accepts an event stream', async () => {
      await using server = await httpServer((_, response) => response.writeHead(200, sse).end('data: 1\n\n'))
      const stream = await openStream(callBy(`${server.url}/v1/x?api-version=1`, { body: { text: 'é🙂' } }))
      expect(await readBody(stream)).toBe('data: 1\n\n')
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

    test('may override content-type and accept', async () => {
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
    test('is named in a retryable error', async () => {
      const url = await unusedAddress()
      const error = await failureFrom(openStream(callBy(url)))
      expect(error).toMatchObject({ code: 'stream_error', retryable: true, status: undefined })
      expect(error.message).toMatch(
        /^them: cannot reach 127\.0\.0\.1:\d+ \(is the server running\?\): ECONNREFUSED$/,
      )
      expect(error.cause).toBeInstanceOf(Error)
    })

    test.each([
      ['resets the connection', (socket) => socket.resetAndDestroy()],
      ['hangs up', (socket) => socket.end()],
      ['hangs up within the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Ty')],
      ['speaks another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ] satisfies [string, Parameters<typeof tcpServer>[0]][])('is one that %s', async (_, onRequest) => {
      await using server = await tcpServer(onRequest)
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'stream_error', retryable: true })
      expect(error.message).toContain(`cannot reach ${server.host}`)
    })

    const throwing = (thrown: unknown) => failureOfResponse(() => Promise.reject(thrown))
    const caused = (code: string, message: string) =>
      new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) })

    test('in time is a retryable timeout', async () => {
      for (const error of [
        await throwing(caused('UND_ERR_CONNECT_TIMEOUT', 'Connect Timeout Error')),
        await throwing(caused('UND_ERR_HEADERS_TIMEOUT', 'Headers Timeout Error')),
        await throwing(caused('ETIMEDOUT', 'connect ETIMEDOUT')),
      ])
        expect(error).toMatchObject({ code: 'timeout', retryable: true })
    })

    test('is reported as a timeout of fetch if that is the reason', async () => {
      for (const code of ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']) {
        const { message } = await throwing(caused(code, 'Timeout Error'))
        expect(message).toContain('fetch timed out')
        expect(message).not.toContain('is the server running')
      }
    })

    test('for a permanent reason is not retryable', async () => {
      for (const error of [
        await throwing(caused('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')),
        await throwing(caused('ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number')),
        await throwing(new TypeError('Headers.append: "x" is an invalid header value.')),
        await throwing(new TypeError('Failed to parse URL from /v1')),
      ])
        expect(error).toMatchObject({ code: 'stream_error', retryable: false })
    })

    test('fails with our error whatever fetch throws', async () => {
      for (const thrown of [null, undefined, 'no', 42, {}, Object.create(null)])
        expect(await throwing(thrown)).toMatchObject({ code: 'stream_error', retryable: true })
      const atOnce: Fetch = () => {
        throw new Error('at once')
      }
      expect((await failureOfResponse(atOnce)).message).toBe('them: cannot reach host.test: at once')
    })

    test.each([
      ['in its message', new TypeError(`Headers.append: "Bearer ${key}\n" is an invalid header value.`)],
      ['in its cause', new TypeError('fetch failed', { cause: new Error(`bad header: ${key}`) })],
      [
        'in its fields',
        Object.assign(new Error('no'), { config: { headers: { authorization: `Bearer ${key}` } } }),
      ],
      ['in its request', Object.assign(new Error('no'), { request: new Headers({ 'x-api-key': key }) })],
      [
        'in a nested cause',
        new Error('1', { cause: new Error('2', { cause: new Error('3', { cause: { key } }) }) }),
      ],
    ])('shows no key that fetch threw %s', async (_, thrown) => {
      const error = await throwing(thrown)
      expect(error.code).toBe('stream_error')
      expect(error.cause).toBeUndefined()
    })
  })

  describe('a response that is not a stream', () => {
    test('but a page gets advice', async () => {
      const html = '<!doctype html>\n<html><title>Sign in</title></html>'
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
      )
      const error = await failureFrom(openStream(callBy(`${server.url}/v1`)))
      expect(error).toMatchObject({ code: 'llm_error', retryable: false, status: 200 })
      expect(error.message).toContain('returned 200 with text/html; charset=utf-8 instead of an event stream')
      expect(error.message).toContain(`${server.url} sent: <!doctype html> <html>`)
    })

    test.each([
      ['Chat Completions', { id: 'c', object: 'chat.completion', choices: [{ message: { content: 'hi' } }] }],
      ['Chat Completions, with an error of null', { error: null, choices: [{ message: { content: 'hi' } }] }],
      ['Responses', { id: 'r', object: 'response', error: null, output: [{ type: 'message', content: [] }] }],
      ['Messages', { id: 'm', type: 'message', content: [{ type: 'text', text: 'an "error": none' }] }],
      ['longer than what is read', { id: 'm', content: [{ type: 'text', text: 'x'.repeat(100_000) }] }],
    ])('but a whole answer means that the server cannot stream: %s', async (_, body) => {
      const error = await failureOfResponse(json(body))
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
    ])('but an error is reported as one: %s', async (_, body, code) => {
      const error = await failureOfResponse(json(body))
      expect(error).toMatchObject({ code })
      expect(error.message).toMatch(/^them failed: /)
    })

    test.each([
      ['JSON that says nothing', json({ ok: true })],
      ['a number', json(7)],
      ['broken JSON', respondingWith('{"a', { headers: { 'content-type': 'application/json' } })],
      [
        'a stream with a JSON content type',
        respondingWith('data: {"choices":[]}\n\n', { headers: { 'content-type': 'application/json' } }),
      ],
      ['lines of JSON', respondingWith('{}\n{}\n', { headers: { 'content-type': 'application/x-ndjson' } })],
      ['nothing', respondingWith(null, { headers: { 'content-type': 'text/plain' } })],
    ])('and not recognized either: %s', async (_, fetch) => {
      expect(await failureOfResponse(fetch)).toMatchObject({
        code: 'llm_error',
        retryable: false,
        status: 200,
      })
    })

    test('shows no key, not even its beginning', async () => {
      for (let at = 100; at <= 120; at++) {
        const page = `${'x'.repeat(at)}${key}`
        const error = await failureOfResponse(
          respondingWith(page, { headers: { 'content-type': 'text/html' } }),
        )
        expect(error.message).not.toContain(key.slice(0, 5))
      }
    })
  })

  test('a redirect is not followed, so that the key and the conversation stay here', async () => {
    await using other = await httpServer((_, response) => response.writeHead(200, sse).end())
    for (const status of [301, 302, 307, 308]) {
      await using server = await httpServer((_, response) =>
        response.writeHead(status, { location: `${other.url}/elsewhere?token=${key}` }).end('moved'),
      )
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'llm_error', retryable: false, status })
      expect(error.message).toContain(
        `redirects to ${other.url} are not followed, so that the key stays here. Set baseURL`,
      )
    }
    expect(other.requests).toStrictEqual([])
    expect((await failureOfResponse(respondingWith(null, { status: 304 }))).status).toBe(304)
  })

  describe('a stream', () => {
    test.each([
      'text/event-stream',
      'text/event-stream; charset=utf-8',
      'Text/Event-Stream',
      'text/event-stream;charset=UTF-8',
    ])('is recognized by its content type: %s', async (type) => {
      const fetch = respondingWith('data: 1\n\n', { headers: { 'content-type': type } })
      const stream = await openStream(callBy('https://host.test', { fetch }))
      expect(await readBody(stream)).toBe('data: 1\n\n')
    })

    test('is accepted without a content type', async () => {
      await using server = await tcpServer((socket) => {
        socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: 1\n\n')
      })
      const stream = await openStream(callBy(server.url))
      expect(await readBody(stream)).toBe('data: 1\n\n')
    })

    test('may have no body', async () => {
      const stream = await openStream(
        callBy('https://host.test', { fetch: respondingWith(null, { status: 204 }) }),
      )
      expect(await readBody(stream)).toBe('')
    })
  })

  describe('an error response', () => {
    test('is reported with its status, message and delay', async () => {
      await using server = await httpServer((_, response) =>
        response
          .writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' })
          .end(`{"error":{"message":"slower, ${key}"}}`),
      )
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'rate_limit', retryable: true, status: 429, retryAfterMs: 7000 })
      expect(error.message).toBe('them returned 429: slower, [key]')
    })

    test('names the variable of the key', async () => {
      const error = await failureOfResponse(respondingWith('{"error":"no"}', { status: 401 }))
      expect(error).toMatchObject({ code: 'auth', status: 401 })
      expect(error.message).toContain('(THEIR_KEY)')
    })

    test('may have no body', async () => {
      expect((await failureOfResponse(respondingWith(null, { status: 500 }))).message).toBe(
        'them returned 500',
      )
    })

    test('that stalls is not waited for', async () => {
      vi.useFakeTimers()
      try {
        const canceled = vi.fn()
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode('the first words')),
          cancel: canceled,
        })
        const failed = failureOfResponse(respondingWith(body, { status: 503 }))
        await vi.advanceTimersByTimeAsync(60_000)
        expect((await failed).message).toBe('them returned 503: the first words')
        expect(canceled).toHaveBeenCalledOnce()
      } finally {
        vi.useRealTimers()
      }
    })

    test('that never ends is not read to the end', async () => {
      let pulled = 0
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled += 1024
          controller.enqueue(new Uint8Array(1024).fill(120))
        },
      })
      expect(await failureOfResponse(respondingWith(body, { status: 500 }))).toMatchObject({ status: 500 })
      expect(pulled).toBeLessThan(100_000)
    })

    test('that breaks off is reported as far as it was read', async () => {
      await using server = await httpServer((_, response) => {
        response.writeHead(500, { 'content-length': '1000' })
        response.write('the first words', () => response.socket?.resetAndDestroy())
      })
      const error = await failureFrom(openStream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'llm_error', status: 500, retryable: true })
    })
  })

  describe('an abort', () => {
    test('before the request sends nothing', async () => {
      const fetch = vi.fn(respondingWith('', { headers: sse }))
      const error = await failureFrom(
        openStream(callBy('https://host.test', { fetch, signal: AbortSignal.abort() })),
      )
      expect(error).toMatchObject({ code: 'stream_interrupted', retryable: false })
      expect(fetch).not.toHaveBeenCalled()
    })

    test('while waiting for the response closes the socket', async () => {
      const asked = Promise.withResolvers<void>()
      await using server = await tcpServer(() => asked.resolve())
      const controller = new AbortController()
      const failed = failureFrom(openStream(callBy(server.url, { signal: controller.signal })))
      await asked.promise
      controller.abort()
      expect(await failed).toMatchObject({ code: 'stream_interrupted', message: 'the request was aborted' })
      await server.disconnected
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    })

    test('is reported as such, whatever the reason and whatever fetch throws', async () => {
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
