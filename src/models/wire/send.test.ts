import { getEventListeners } from 'node:events'
import { gzipSync } from 'node:zlib'
import { Agent, getGlobalDispatcher, ProxyAgent, setGlobalDispatcher } from 'undici'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { byDispatcher } from './by-dispatcher.ts'
import { openStream } from './http.ts'
import { send } from './send.ts'
import { callTo, failureFrom, httpServer, key, tcpServer, textOf } from './wire.test-kit.ts'

const sse = { 'content-type': 'text/event-stream' }
const { signal } = new AbortController()

const greeting = () => httpServer((_, response) => response.writeHead(200, sse).end('data: 1\n\n'))
const post = (url: string) => send({ url, headers: {}, body: '{}', signal }, undefined)

describe('a request without a fetch of its own', () => {
  const usual = getGlobalDispatcher()
  afterEach(() => {
    vi.unstubAllGlobals()
    setGlobalDispatcher(usual)
  })

  test('goes to the connections of fetch, says who it is and asks for plain bytes', async () => {
    await using server = await greeting()
    expect(await textOf(await post(server.url))).toBe('data: 1\n\n')
    expect(server.requests[0]?.headers).toMatchObject({
      'user-agent': 'millrace',
      'accept-encoding': 'identity',
      'content-length': '2',
    })
  })

  test('goes through whatever somebody has put in the place of fetch', async () => {
    await using server = await greeting()
    const usualFetch = globalThis.fetch
    const seen = vi.fn<typeof fetch>((...args) => usualFetch(...args))
    vi.stubGlobal('fetch', seen)
    expect(await textOf(await post(server.url))).toBe('data: 1\n\n')
    expect(seen).toHaveBeenCalledOnce()
    vi.unstubAllGlobals()
    await textOf(await post(server.url))
    expect(seen).toHaveBeenCalledOnce()
  })

  test('takes one that was only bound for another', async () => {
    await using server = await greeting()
    vi.stubGlobal('fetch', fetch.bind(globalThis))
    await textOf(await post(server.url))
    expect(server.requests[0]?.headers['user-agent']).not.toBe('millrace')
  })

  test('goes through a dispatcher that was set with undici', async () => {
    await using server = await greeting()
    const origins: string[] = []
    setGlobalDispatcher(
      new Agent().compose((dispatch) => (options, handler) => {
        origins.push(String(options.origin))
        return dispatch(options, handler)
      }),
    )
    expect(await textOf(await post(server.url))).toBe('data: 1\n\n')
    expect(origins).toEqual([server.url])
  })

  test('goes through a proxy that was set with undici', async () => {
    await using proxy = await httpServer((_, response) => response.writeHead(200, sse).end('data: 2\n\n'))
    const agent = new ProxyAgent({ uri: proxy.url, proxyTunnel: false })
    setGlobalDispatcher(agent)
    expect(await textOf(await post('http://host.test/v1?x=1'))).toBe('data: 2\n\n')
    expect(proxy.requests[0]?.url).toBe('http://host.test/v1?x=1')
    await agent.close()
  })
})

describe('an answer', () => {
  test('may have something before it', async () => {
    await using server = await tcpServer((socket) => {
      socket.end(
        'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nconnection: close\r\nX-A: b\r\n\r\nhello',
      )
    })
    const answer = await post(server.url)
    expect(answer).toMatchObject({ status: 200, isRedirect: false })
    expect(answer.headers.get('x-a')).toBe('b')
    expect(answer.headers.get('x-b')).toBeNull()
    expect(await textOf(answer)).toBe('hello')
  })

  test('that is compressed although nobody asked for it says what to do', async () => {
    await using server = await httpServer((_, response) =>
      response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(gzipSync('data: 1\n\n')),
    )
    const { message, retryable } = await failureFrom(openStream(callTo(server.url)))
    expect(message).toBe(
      'them sent its answer compressed (gzip): pass fetch: globalThis.fetch, which can read it',
    )
    expect(retryable).toBe(false)
    const read = await openStream(callTo(server.url, { fetch: globalThis.fetch }))
    expect(await textOf(read)).toBe('data: 1\n\n')
  })
})

describe('an answer that says how it is encoded', () => {
  test.each(['none', 'identity', 'Identity', 'UTF-8'])(
    'is read if that is no compression: %s',
    async (encoding) => {
      await using server = await httpServer((_, response) =>
        response.writeHead(200, { ...sse, 'content-encoding': encoding }).end('data: 1\n\n'),
      )
      expect(await textOf(await openStream(callTo(server.url)))).toBe('data: 1\n\n')
    },
  )

  test('is a refusal like any other if it is one', async () => {
    await using server = await httpServer((_, response) =>
      response
        .writeHead(503, { 'content-encoding': 'gzip', 'retry-after': '3' })
        .end(gzipSync('{"error":{"message":"overloaded"}}')),
    )
    const failure = await failureFrom(openStream(callTo(server.url)))
    expect(failure).toMatchObject({ code: 'overloaded', retryable: true, status: 503, retryAfterMs: 3000 })
  })

  test('shows no key that stands in it', async () => {
    await using server = await httpServer((_, response) =>
      response.writeHead(200, { ...sse, 'content-encoding': `gzip, ${key}` }).end(),
    )
    expect((await failureFrom(openStream(callTo(server.url)))).message).toContain('compressed (gzip')
  })
})

test('a header that cannot be sent is not taken for a server that is not there', async () => {
  const call = callTo('http://127.0.0.1:1/v1', { headers: { 'x-bad': 'a\nb' } })
  const { message, retryable } = await failureFrom(openStream(call))
  expect(message).toContain('the request cannot be sent')
  expect(retryable).toBe(false)
})

/** Node's side of the matter, held in the hand. */
function held() {
  type Dispatch = Parameters<typeof byDispatcher>[1]['dispatch']
  let handler: Parameters<Dispatch>[1] | undefined
  const aborted = vi.fn()
  const resumed = vi.fn()
  const dispatcher = {
    dispatch: (_: unknown, given: NonNullable<typeof handler>) => {
      handler = given
      return true
    },
  }
  return {
    dispatcher,
    aborted,
    resumed,
    connect: () => handler?.onConnect(aborted),
    begin: (status = 200) => handler?.onHeaders(status, ['Content-Type', 'text/event-stream'], resumed),
    data: (length: number) => handler?.onData(new Uint8Array(length).fill(length)),
    complete: () => handler?.onComplete(),
    fail: (error: Error) => handler?.onError(error),
  }
}

function sent(over: { readonly signal?: AbortSignal } = {}) {
  const node = held()
  const answer = byDispatcher(
    { url: 'http://host.test/a', headers: {}, body: '{}', signal, ...over },
    node.dispatcher,
  )
  return { ...node, answer }
}

describe('the bytes of an answer', () => {
  test('that came together are read together, in order', async () => {
    const { answer, connect, begin, data, complete } = sent()
    connect()
    begin()
    const { read } = await answer
    data(1)
    data(2)
    expect(await read()).toEqual(Uint8Array.of(1, 2, 2))
    const next = read()
    data(3)
    complete()
    expect(await next).toEqual(Uint8Array.of(3, 3, 3))
    expect(await read()).toBeUndefined()
    expect(await read()).toBeUndefined()
  })

  test('are held back while nobody comes for them', async () => {
    const { answer, connect, begin, data, resumed } = sent()
    connect()
    begin()
    const { read } = await answer
    expect(data(60_000)).toBe(true)
    expect(data(6000)).toBe(false)
    expect(resumed).not.toHaveBeenCalled()
    expect(await read()).toHaveLength(66_000)
    expect(resumed).toHaveBeenCalledOnce()
    expect(data(10)).toBe(true)
  })

  test('are all read before the failure that ends them is', async () => {
    const { answer, connect, begin, data, fail } = sent()
    connect()
    begin()
    const { read } = await answer
    data(1)
    fail(new Error('reset'))
    expect(await read()).toEqual(Uint8Array.of(1))
    await expect(read()).rejects.toThrow('reset')
    await expect(read()).rejects.toThrow('reset')
  })
})

describe('a request that is not wanted any more', () => {
  test('before it is connected is stopped when it is', async () => {
    const controller = new AbortController()
    const { answer, connect, aborted } = sent({ signal: controller.signal })
    controller.abort()
    await expect(answer).rejects.toThrow('not wanted')
    expect(aborted).not.toHaveBeenCalled()
    connect()
    expect(aborted).toHaveBeenCalledOnce()
  })

  test('before it was sent is not', async () => {
    const { answer, connect } = sent({ signal: AbortSignal.abort() })
    await expect(answer).rejects.toThrow('not wanted')
    expect(connect()).toBeUndefined()
  })

  test('while it is read ends the reading, and what came late is dropped', async () => {
    const { answer, connect, begin, data, aborted, complete } = sent()
    connect()
    begin()
    const { read, close } = await answer
    const next = read()
    close()
    expect(await next).toBeUndefined()
    expect(aborted).toHaveBeenCalledOnce()
    data(1)
    complete()
    close()
    expect(await read()).toBeUndefined()
    expect(aborted).toHaveBeenCalledOnce()
  })

  test('that cannot even be begun fails, and leaves nothing on the signal', async () => {
    const { signal: own } = new AbortController()
    const dispatch = () => {
      throw new TypeError('closed')
    }
    const request = { url: 'http://host.test/a', headers: {}, body: '{}', signal: own }
    await expect(byDispatcher(request, { dispatch })).rejects.toThrow('closed')
    expect(getEventListeners(own, 'abort')).toHaveLength(0)
  })

  test('and ends before it was answered has failed', async () => {
    const { answer, connect, complete } = sent()
    connect()
    complete()
    await expect(answer).rejects.toThrow('ended before an answer began')
  })

  test('and has failed stays failed', async () => {
    const { answer, connect, fail } = sent()
    connect()
    fail(new Error('refused'))
    await expect(answer).rejects.toThrow('refused')
  })
})
