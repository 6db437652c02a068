import { randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import * as zlib from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Dispatcher } from './dispatcher.ts'
import { sendByDispatcher } from './dispatcher.ts'
import { openStream } from './http.ts'
import { readBody, send } from './send.ts'
import { callTo, failureFrom, httpServer, key, nodeTransports, sendBy, tcpServer } from './wire.test-kit.ts'

const sse = { 'content-type': 'text/event-stream' }
const { signal } = new AbortController()

const greeting = () => httpServer((_, response) => response.writeHead(200, sse).end('data: 1\n\n'))
const post = (url: string) => send({ url, headers: {}, body: '{}', signal }, undefined)

describe.each(nodeTransports)('by %s', (transport) => {
  sendBy(transport)

  describe('a request', () => {
    test('has a user agent, and asks for no compression', async () => {
      await using server = await greeting()
      expect(await readBody(await post(server.url))).toBe('data: 1\n\n')
      expect(server.requests[0]?.headers).toMatchObject({
        'user-agent': 'millrace',
        'accept-encoding': 'identity',
        'content-length': '2',
      })
    })

    test('reuses connections of earlier requests', async () => {
      const ports = new Set<number | undefined>()
      await using server = await httpServer((request, response) => {
        ports.add(request.socket.remotePort)
        response.writeHead(200, sse).end('data: 1\n\n')
      })
      for (let count = 0; count < 10; count++) await readBody(await post(server.url))
      expect(server.requests).toHaveLength(10)
      // At most two: a connection is released a moment after its response has ended.
      expect(ports.size).toBeLessThan(5)
    })

    test('stops reading when too many bytes are unread', async () => {
      const size = 16 * 1024 * 1024
      await using server = await httpServer((request, response) =>
        request.url === '/long' ? response.end(Buffer.alloc(size)) : response.end('ok'),
      )
      const response = await post(`${server.url}/long`)
      // Gives the server time to send everything.
      for (let count = 0; count < 20; count++) await readBody(await post(server.url))
      const sizes: number[] = []
      for (let bytes = await response.read(); bytes; bytes = await response.read()) sizes.push(bytes.length)
      response.close()
      expect(sizes.reduce((sum, length) => sum + length)).toBe(size)
      expect(Math.max(...sizes)).toBeLessThan(256 * 1024)
    })
  })

  describe('a response', () => {
    test('may follow an informational response', async () => {
      await using server = await tcpServer((socket) => {
        socket.end(
          'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nconnection: close\r\nX-A: b\r\n\r\nhello',
        )
      })
      const response = await post(server.url)
      expect(response).toMatchObject({ status: 200, isRedirect: false })
      expect(response.headers.get('x-a')).toBe('b')
      expect(response.headers.get('x-b')).toBeNull()
      expect(await readBody(response)).toBe('hello')
    })

    test.each([
      ['gzip', zlib.gzipSync],
      ['deflate', zlib.deflateSync],
      ['br', zlib.brotliCompressSync],
    ])('that is compressed without being requested is read: %s', async (encoding, compress) => {
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { ...sse, 'content-encoding': encoding }).end(compress('data: 1\n\n')),
      )
      expect(await readBody(await openStream(callTo(server.url)))).toBe('data: 1\n\n')
    })

    test('that is compressed and cut off is a broken connection', async () => {
      const half = zlib.gzipSync(randomBytes(1000)).subarray(0, 500)
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(half),
      )
      const response = await openStream(callTo(server.url))
      await expect(readBody(response)).rejects.toThrow('unexpected end of file')
    })

    test('that is compressed is stopped by an abort', async () => {
      await using server = await httpServer((_, response) => {
        const gzip = zlib.createGzip()
        gzip.pipe(response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }))
        gzip.write('data: 1\n\n')
        gzip.flush()
      })
      const controller = new AbortController()
      const response = await openStream(callTo(server.url, { signal: controller.signal }))
      expect(new TextDecoder().decode(await response.read())).toBe('data: 1\n\n')
      controller.abort()
      await response.read().catch(() => {})
      response.close()
      await server.disconnected
    })

    test('that is compressed in a way we cannot read gets advice', async () => {
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { ...sse, 'content-encoding': 'gzip, br' }).end(),
      )
      const { message, retryable } = await failureFrom(openStream(callTo(server.url)))
      expect(message).toBe(
        'them sent a compressed response (gzip, br): pass fetch: globalThis.fetch, which can read it',
      )
      expect(retryable).toBe(false)
    })
  })

  describe('a response with a content-encoding', () => {
    test.each(['none', 'identity', 'Identity', 'UTF-8'])(
      'is read if it is not a compression: %s',
      async (encoding) => {
        await using server = await httpServer((_, response) =>
          response.writeHead(200, { ...sse, 'content-encoding': encoding }).end('data: 1\n\n'),
        )
        expect(await readBody(await openStream(callTo(server.url)))).toBe('data: 1\n\n')
      },
    )

    test('is a normal error response if it is one', async () => {
      await using server = await httpServer((_, response) =>
        response
          .writeHead(503, { 'content-encoding': 'gzip', 'retry-after': '3' })
          .end(zlib.gzipSync('{"error":{"message":"overloaded"}}')),
      )
      const failure = await failureFrom(openStream(callTo(server.url)))
      expect(failure).toMatchObject({ code: 'overloaded', retryable: true, status: 503, retryAfterMs: 3000 })
    })

    test('shows no key in it', async () => {
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { ...sse, 'content-encoding': `gzip, ${key}` }).end(),
      )
      expect((await failureFrom(openStream(callTo(server.url)))).message).toContain(
        'compressed response (gzip',
      )
    })
  })

  test('an invalid header is not reported as an unreachable server', async () => {
    const call = callTo('http://127.0.0.1:1/v1', { headers: { 'x-bad': 'a\nb' } })
    const { message, retryable } = await failureFrom(openStream(call))
    expect(message).toContain('the request cannot be sent')
    expect(retryable).toBe(false)
  })
})

describe('a global fetch that was replaced', () => {
  afterEach(() => vi.unstubAllGlobals())

  test('gets every request', async () => {
    await using server = await greeting()
    const usualFetch = globalThis.fetch
    const seen = vi.fn<typeof fetch>((...args) => usualFetch(...args))
    vi.stubGlobal('fetch', seen)
    expect(await readBody(await post(server.url))).toBe('data: 1\n\n')
    expect(seen).toHaveBeenCalledOnce()
    vi.unstubAllGlobals()
    await readBody(await post(server.url))
    expect(seen).toHaveBeenCalledOnce()
  })

  test('gets every request too if it is only bound', async () => {
    await using server = await greeting()
    vi.stubGlobal('fetch', fetch.bind(globalThis))
    await readBody(await post(server.url))
    expect(server.requests[0]?.headers['user-agent']).not.toBe('millrace')
  })
})

describe.each([
  ['7', () => import('undici-7'), true],
  // Needs Node 22.19.
  ['8', () => import('undici'), 'createZstdDecompress' in zlib],
] as const)('with undici %s of npm, a request', (_, load, works) => {
  // Loaded on demand: loading it is enough to replace Node's own dispatcher.
  const replaced = async () => {
    const undici = (await load()) as typeof import('undici')
    const usual = undici.getGlobalDispatcher()
    return { ...undici, [Symbol.dispose]: () => undici.setGlobalDispatcher(usual) }
  }

  test.runIf(works)('uses a dispatcher that was set with it', async () => {
    using undici = await replaced()
    await using server = await greeting()
    const origins: string[] = []
    undici.setGlobalDispatcher(
      new undici.Agent().compose((dispatch) => (options, handler) => {
        origins.push(String(options.origin))
        return dispatch(options, handler)
      }),
    )
    expect(await readBody(await post(server.url))).toBe('data: 1\n\n')
    expect(origins).toEqual([server.url])
    expect(server.requests[0]?.headers['user-agent']).toBe('millrace')
  })

  test.runIf(works)('uses a proxy that was set with it', async () => {
    using undici = await replaced()
    await using proxy = await httpServer((_, response) => response.writeHead(200, sse).end('data: 2\n\n'))
    const agent = new undici.ProxyAgent({ uri: proxy.url, proxyTunnel: false })
    undici.setGlobalDispatcher(agent)
    expect(await readBody(await post('http://host.test/v1?x=1'))).toBe('data: 2\n\n')
    expect(proxy.requests[0]?.url).toBe('http://host.test/v1?x=1')
    await agent.close()
  })
})

/** A fake dispatcher for each version of undici's interface, controlled by the test. */
function fakeDispatcher(version: 1 | 2) {
  type Given<V> = Parameters<Extract<Dispatcher, { version: V }>['dispatch']>[1]
  const aborted = vi.fn()
  const resumed = vi.fn()
  const bytes = (length: number) => new Uint8Array(length).fill(length)
  if (version === 1) {
    let handler: Given<1> | undefined
    const dispatcher: Dispatcher = {
      version,
      dispatch: (_, given) => {
        handler = given
        return true
      },
    }
    return {
      dispatcher,
      aborted,
      resumed,
      connect: () => handler?.onConnect(aborted),
      respond: (status = 200) =>
        handler?.onHeaders(status, ['Content-Type', 'text/plain', 'X-A', 'b', 'X-A', 'c'], resumed),
      data: (length: number) => handler?.onData(bytes(length)),
      complete: () => handler?.onComplete(),
      fail: (error: Error) => handler?.onError(error),
    }
  }
  let handler: Given<2> | undefined
  const controller = { abort: aborted, pause: vi.fn(), resume: resumed }
  const dispatcher: Dispatcher = {
    version,
    dispatch: (_, given) => {
      handler = given
      return true
    },
  }
  return {
    dispatcher,
    aborted,
    resumed,
    connect: () => handler?.onRequestStart(controller),
    respond: (status = 200) =>
      handler?.onResponseStart(controller, status, { 'content-type': 'text/plain', 'x-a': ['b', 'c'] }),
    data(length: number) {
      controller.pause.mockClear()
      handler?.onResponseData(controller, bytes(length))
      return controller.pause.mock.calls.length === 0
    },
    complete: () => handler?.onResponseEnd(),
    fail: (error: Error) => handler?.onResponseError(controller, error),
  }
}

describe.each([1, 2] as const)("with version %i of undici's interface", (version) => {
  function sent(over: { readonly signal?: AbortSignal } = {}) {
    const node = fakeDispatcher(version)
    const response = sendByDispatcher(
      { url: 'http://host.test/a', headers: {}, body: '{}', signal, ...over },
      node.dispatcher,
    )
    return { ...node, response }
  }

  test('headers are found by name and can be iterated', async () => {
    const { response, connect, respond } = sent()
    connect()
    respond(103)
    respond(503)
    const { status, headers } = await response
    expect(status).toBe(503)
    expect(headers.get('content-type')).toBe('text/plain')
    expect(headers.get('x-b')).toBeNull()
    expect([...headers]).toEqual([
      ['content-type', 'text/plain'],
      ['x-a', 'b'],
      ['x-a', 'c'],
    ])
  })

  describe('the bytes of a response', () => {
    test('that arrived together are read together, in order', async () => {
      const { response, connect, respond, data, complete } = sent()
      connect()
      respond()
      const answer = await response
      data(1)
      data(2)
      expect([...((await answer.read()) ?? [])]).toEqual([1, 2, 2])
      const next = answer.read()
      data(3)
      complete()
      expect(await next).toEqual(Uint8Array.of(3, 3, 3))
      expect(await answer.read()).toBeUndefined()
      expect(await answer.read()).toBeUndefined()
    })

    test('are paused while they are not read', async () => {
      const { response, connect, respond, data, resumed } = sent()
      connect()
      respond()
      const answer = await response
      expect(data(60_000)).toBe(true)
      expect(data(6000)).toBe(false)
      expect(resumed).not.toHaveBeenCalled()
      expect(await answer.read()).toHaveLength(66_000)
      expect(resumed).toHaveBeenCalledOnce()
      expect(data(10)).toBe(true)
    })

    test('are all read before the failure that ends them', async () => {
      const { response, connect, respond, data, fail } = sent()
      connect()
      respond()
      const answer = await response
      data(1)
      fail(new Error('reset'))
      expect(await answer.read()).toEqual(Uint8Array.of(1))
      await expect(answer.read()).rejects.toThrow('reset')
      await expect(answer.read()).rejects.toThrow('reset')
    })
  })

  describe('a request that is canceled', () => {
    test('before it is connected is stopped once it is', async () => {
      const controller = new AbortController()
      const { response, connect, aborted } = sent({ signal: controller.signal })
      controller.abort()
      await expect(response).rejects.toThrow('was closed')
      expect(aborted).not.toHaveBeenCalled()
      connect()
      expect(aborted).toHaveBeenCalledOnce()
    })

    test('before it is sent is never sent', async () => {
      const { response, connect } = sent({ signal: AbortSignal.abort() })
      await expect(response).rejects.toThrow('was closed')
      expect(connect()).toBeUndefined()
    })

    test('while it is read ends the read, and later data is dropped', async () => {
      const { response, connect, respond, data, aborted, complete } = sent()
      connect()
      respond()
      const answer = await response
      const next = answer.read()
      answer.close()
      expect(await next).toBeUndefined()
      expect(aborted).toHaveBeenCalledOnce()
      data(1)
      complete()
      answer.close()
      expect(await answer.read()).toBeUndefined()
      expect(aborted).toHaveBeenCalledOnce()
    })

    test('that cannot be dispatched fails and leaves no listener on the signal', async () => {
      const { signal: own } = new AbortController()
      const dispatch = () => {
        throw new TypeError('closed')
      }
      const request = { url: 'http://host.test/a', headers: {}, body: '{}', signal: own }
      await expect(sendByDispatcher(request, { version, dispatch })).rejects.toThrow('closed')
      expect(getEventListeners(own, 'abort')).toHaveLength(0)
    })

    test('fails if it ends before a response', async () => {
      const { response, connect, complete } = sent()
      connect()
      complete()
      await expect(response).rejects.toThrow('ended before a response started')
    })

    test('stays failed once it has failed', async () => {
      const { response, connect, fail } = sent()
      connect()
      fail(new Error('refused'))
      await expect(response).rejects.toThrow('refused')
    })
  })
})
