import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WebSocket as WsSocket } from 'ws'
import { sized, stride } from '../../../../test/size.ts'
import type { Entry } from '../protocol/index.ts'
import { cuttingProxy } from './cutting-proxy.test-kit.ts'
import { errorOf, expectWhole, fastRetry, take, until } from './follow.test-kit.ts'
import type { ClientOptions } from './index.ts'
import { client } from './index.ts'
import type { Fault } from './log-server.test-kit.ts'
import { frameOf, joined, logOf, logServer } from './log-server.test-kit.ts'

const transports = ['sse', 'websocket', 'auto'] as const

function threadAt(url: string, options: ClientOptions = {}) {
  return client(url, { ...fastRetry, ...options }).thread('t1')
}

describe.each(transports)('over %s', (transport) => {
  test('a thread can be followed from its start, or from any number', async () => {
    const log = logOf(20)
    await using server = await logServer({ log })
    const thread = threadAt(server.url, { transport })
    expect(await take(thread.follow(), 20)).toEqual(log)
    expect(await take(thread.follow({ after: 13 }), 20)).toEqual(log.slice(13))
    expect(server.streams.map(({ after }) => after)).toEqual([0, 13])
  })

  test('each number arrives exactly once, whatever goes wrong', async () => {
    const wrong = fc.oneof(
      fc
        .record({ size: fc.integer({ min: 1, max: 5 }) })
        .map(({ size }): Fault => ({ transform: (entries) => joined(entries, size) })),
      fc.record({ at: fc.nat(30), back: fc.integer({ min: 1, max: 5 }) }).map(
        // Repeats earlier entries in the middle.
        ({ at, back }): Fault => ({
          transform: (entries) => [...entries.slice(0, at), ...entries.slice(Math.max(0, at - back))],
        }),
      ),
      fc.record({ at: fc.nat(30), gap: fc.integer({ min: 1, max: 5 }) }).map(
        // Never leaves out the last entry: no client could notice.
        ({ at, gap }): Fault => ({
          transform: (all) => all.toSpliced(at, Math.min(gap, all.length - at - 1)),
        }),
      ),
      fc.record({ at: fc.nat(30) }).map(
        // Joins an entry that was already sent with the next ones.
        ({ at }): Fault => ({
          transform: (entries) => [...entries.slice(0, at), ...joined(entries.slice(Math.max(0, at - 1)), 3)],
        }),
      ),
      fc.constantFrom<Fault>(
        { status: 500 },
        { status: 503, headers: { 'retry-after': '0' } },
        { suffix: 'data: {"seq":\n\n' },
        { suffix: 'data: {"seq":99}\n\n' },
        { close: 1001 },
        { transform: (entries) => entries.slice(0, 3), close: 1013 },
      ),
    )
    const plan = fc.record({
      faults: fc.array(wrong, { maxLength: 6 }),
      cuts: fc.array(fc.nat(3000), { maxLength: 6 }),
      slice: fc.option(fc.integer({ min: 40, max: 600 }), { nil: undefined }),
      after: fc.nat(30),
    })
    const log = logOf(30)
    await fc.assert(
      fc.asyncProperty(plan, async ({ faults, cuts, slice, after }) => {
        await using server = await logServer({ log, faults })
        await using proxy = await cuttingProxy({
          port: server.port,
          bytes: (nth) => cuts[nth],
          ...(slice !== undefined && { slice }),
        })
        const thread = threadAt(proxy.url, { transport, silenceMs: 3000 })
        if (after < 30) expectWhole(await take(thread.follow({ after }), 30), log, after)
      }),
      { numRuns: sized(60) },
    )
  })

  test('a missing thread is an error', async () => {
    const body = JSON.stringify({ error: { code: 'not_found', message: "there is no thread 't1'" } })
    const fault = { status: 404, body }
    await using server = await logServer({ faults: [fault, fault] })
    const error = await errorOf(take(threadAt(server.url, { transport }).follow(), 1))
    expect(error).toMatchObject({ code: 'not_found', message: "there is no thread 't1'", status: 404 })
    expect(error.op).toBe('client.follow')
  })

  test('onOpen and onRetry report when the connection is open, lost and open again', async () => {
    const log = logOf(9)
    const events: string[] = []
    const first: Fault = { transform: (entries) => entries.slice(0, 3), close: 1013 }
    await using server = await logServer({ log, faults: [first] })
    const options = { transport, onOpen: () => events.push('open'), onRetry: () => events.push('lost') }
    expect(await take(threadAt(server.url, options).follow(), 9)).toEqual(log)
    expect(events).toEqual(['open', 'lost', 'open'])
  })

  test('following ends when the thread is deleted', async () => {
    const body = JSON.stringify({ error: { code: 'not_found', message: 'gone' } })
    const gone = { status: 404, body }
    await using server = await logServer({ log: logOf(3), faults: [{ close: 4404 }, gone, gone] })
    expect(await take(threadAt(server.url, { transport }).follow(), 9)).toHaveLength(3)
  })

  test.each([
    [401, 'auth'],
    [403, 'auth'],
  ])('an unauthorized client (%d) gets an error at once', async (status, code) => {
    // Node tries to open a WebSocket twice if the first response is 401.
    await using server = await logServer({ faults: [{ status }, { status }, { status }] })
    const error = await errorOf(take(threadAt(server.url, { transport }).follow(), 1))
    expect(error).toMatchObject({ code, status })
    expect(server.streams.length).toBeLessThanOrEqual(3)
  })

  test('a connection without heartbeats is reopened', async () => {
    const log = logOf(5)
    await using server = await logServer({ log, faults: [{ silent: true }, { silent: true }] })
    const thread = threadAt(server.url, { transport, silenceMs: 60, openMs: 60 })
    expectWhole(await take(thread.follow(), 5), log)
    await Promise.all(server.streams.slice(0, -1).map(({ closed }) => closed))
  })

  test('an unreachable server is an error after a few attempts', async () => {
    const server = await logServer()
    await server[Symbol.asyncDispose]()
    const failures: string[] = []
    const thread = threadAt(server.url, {
      transport,
      retry: { attempts: 3, baseMs: 1, maxDelayMs: 2 },
      onRetry: ({ code }) => failures.push(code),
    })
    const error = await errorOf(take(thread.follow(), 1))
    expect(error).toMatchObject({ code: 'stream_error', retryable: true })
    expect(error.message).toContain('cannot reach http://127.0.0.1:')
    expect(failures).toEqual(['stream_error', 'stream_error'])
  })

  test('a server that has worked before is retried forever', async () => {
    const log = logOf(6)
    const unavailable = Array.from({ length: 12 }, (): Fault => ({ status: 502 }))
    const first = { transform: (entries: readonly Entry[]) => entries.slice(0, 2), close: 1001 }
    await using server = await logServer({ log, faults: [first, ...unavailable] })
    const thread = threadAt(server.url, { transport, retry: { attempts: 1, baseMs: 1, maxDelayMs: 2 } })
    expect(await take(thread.follow(), 6)).toEqual(log)
  })

  test('a server that keeps leaving out the same number is given up', async () => {
    const log = logOf(6)
    const skips = { transform: (entries: readonly Entry[]) => entries.filter(({ seq }) => seq !== 3) }
    await using server = await logServer({ log, faults: Array.from({ length: 9 }, () => skips) })
    const taken: Entry[] = []
    const thread = threadAt(server.url, { transport, retry: { attempts: 3, baseMs: 1 } })
    const work = (async () => {
      for await (const entry of thread.follow()) taken.push(entry)
    })()
    expect((await errorOf(work)).message).toBe('the server sent entries 4 to 4 after entry 2')
    expect(taken).toEqual(log.slice(0, 2))
    expect(server.streams).toHaveLength(3)
  })

  test('repeated entries are dropped, without a reconnect', async () => {
    const log = logOf(6)
    const twice = { transform: (entries: readonly Entry[]) => [...entries.slice(0, 4), ...entries] }
    await using server = await logServer({ log, faults: [twice] })
    expect(await take(threadAt(server.url, { transport }).follow(), 6)).toEqual(log)
    expect(server.streams).toHaveLength(1)
  })

  test('the signal ends it, even if more entries are buffered', async () => {
    await using server = await logServer({ log: logOf(20) })
    const controller = new AbortController()
    const taken: Entry[] = []
    for await (const entry of threadAt(server.url, { transport }).follow({ signal: controller.signal })) {
      taken.push(entry)
      if (entry.seq === 2) controller.abort()
    }
    expect(taken).toHaveLength(2)
  })

  test('the signal ends it while it waits', async () => {
    await using server = await logServer({ log: logOf(3) })
    const controller = new AbortController()
    const entries = threadAt(server.url, { transport }).follow({ signal: controller.signal })
    for (let count = 0; count < 3; count++) await entries.next()
    const waiting = entries.next()
    controller.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await Promise.all(server.streams.map(({ closed }) => closed))
  })

  test('return() ends it while next() is pending', async () => {
    await using server = await logServer({ log: logOf(1) })
    const entries = threadAt(server.url, { transport }).follow()
    await entries.next()
    const waiting = entries.next()
    await entries.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await Promise.all(server.streams.map(({ closed }) => closed))
  })

  test('a signal that is already aborted ends it at once', async () => {
    await using server = await logServer({ log: logOf(1) })
    const signal = AbortSignal.abort()
    expect(await take(threadAt(server.url, { transport }).follow({ signal }), 1)).toEqual([])
    expect(server.streams).toHaveLength(0)
  })
})

test.each(['sse', 'websocket'] as const)('%s resumes after a cut at any byte', async (transport) => {
  const log = logOf(2)
  await using server = await logServer({ log })
  let whole = false
  for (let bytes = 0; !whole; bytes += stride) {
    // A new proxy each time: after a cut, Node opens a spare connection.
    await using proxy = await cuttingProxy({
      port: server.port,
      bytes: (nth) => (nth === 0 ? bytes : undefined),
    })
    expectWhole(await take(threadAt(proxy.url, { transport }).follow(), 2), log)
    whole = proxy.count === 1
  }
})

describe('with until', () => {
  test.each(transports)(
    'it ends when the server says so, always over SSE (transport %s)',
    async (transport) => {
      const log = logOf(5)
      await using server = await logServer({
        log,
        faults: [{ transform: (entries) => entries.slice(0, 2), close: 1 }],
      })
      const thread = threadAt(server.url, { transport })
      const taken: Entry[] = []
      for await (const entry of thread.follow({ until: 4 })) taken.push(entry)
      expect(taken).toEqual(log)
      expect(server.streams.map(({ over, after, until }) => [over, after, until])).toEqual([
        ['sse', 0, '4'],
        ['sse', 2, '4'],
      ])
    },
  )

  test('the connection is reused for the next request', async () => {
    await using server = await logServer({ log: logOf(2) })
    await using proxy = await cuttingProxy({ port: server.port })
    for (let count = 0; count < 12; count++)
      expect(await take(threadAt(proxy.url).follow({ until: 'idle' }), 9)).toHaveLength(2)
    // Not exactly one: the next request may start before the connection is free.
    expect(proxy.count).toBeLessThan(6)
  })

  test('a stream that ends without an `end` event is reopened', async () => {
    await using server = await logServer({
      log: logOf(2),
      faults: [{ close: 1 }, { silent: true, close: 1 }],
    })
    const taken: Entry[] = []
    for await (const entry of threadAt(server.url).follow({ until: 'idle' })) taken.push(entry)
    expect(taken).toHaveLength(2)
    expect(server.streams).toHaveLength(3)
  })
})

describe('the transport', () => {
  const transportsOf = (streams: readonly { over: string }[]) => streams.map(({ over }) => over)

  test('is a WebSocket, and from then on SSE if none can be opened', async () => {
    const log = logOf(3)
    await using open = await logServer({ log })
    await take(threadAt(open.url).follow(), 3)
    expect(transportsOf(open.streams)).toEqual(['socket'])

    await using closed = await logServer({ log, sockets: false })
    const desk = client(closed.url, fastRetry)
    expect(await take(desk.thread('t1').follow(), 3)).toEqual(log)
    expect(await take(desk.thread('t2').follow(), 3)).toEqual(log)
    expect(transportsOf(closed.streams)).toEqual(['sse', 'sse'])
    expect(closed.upgrades).toBe(1)
  })

  test('is SSE only temporarily if WebSockets have worked before', async () => {
    const log = logOf(3)
    const faults = [
      { transform: (entries: readonly Entry[]) => entries.slice(0, 1), close: 1001 },
      { status: 500 },
      { close: 1 },
    ]
    await using server = await logServer({ log, faults })
    const thread = threadAt(server.url)
    const entries = thread.follow()
    for (let count = 0; count < 3; count++) await entries.next()
    const waiting = entries.next()
    await until(() => server.streams.length === 4)
    await entries.return?.()
    await waiting
    expect(transportsOf(server.streams)).toEqual(['socket', 'socket', 'sse', 'socket'])
  })

  test('is SSE if there is no WebSocket', async () => {
    await using server = await logServer({ log: logOf(1) })
    const { WebSocket } = globalThis
    Reflect.deleteProperty(globalThis, 'WebSocket')
    try {
      await take(threadAt(server.url).follow(), 1)
      const error = await errorOf(
        take(threadAt(server.url, { transport: 'websocket', retry: { attempts: 1 } }).follow(), 1),
      )
      expect(error.message).toBe('WebSocket is not available: pass one, or use another transport')
    } finally {
      globalThis.WebSocket = WebSocket
    }
    expect(server.streams[0]?.over).toBe('sse')
  })

  test('is SSE with headers, which a WebSocket cannot send', async () => {
    await using server = await logServer({ log: logOf(1) })
    await take(threadAt(server.url, { headers: { authorization: 'Basic x' } }).follow(), 1)
    expect(server.streams).toMatchObject([{ over: 'sse', authorization: 'Basic x' }])
  })

  test('is SSE if a WebSocket opens but stays silent', async () => {
    const log = logOf(2)
    await using server = await logServer({ log, faults: [{ silent: true }] })
    expect(await take(threadAt(server.url, { openMs: 500 }).follow(), 2)).toEqual(log)
    expect(transportsOf(server.streams)).toEqual(['socket', 'sse'])
  })
})

test('a token is sent over both transports, and a function is called each time', async () => {
  const log = logOf(1)
  await using server = await logServer({ log })
  let count = 0
  const token = async () => `s3cret/ü+${++count}`
  await take(threadAt(server.url, { token }).follow(), 1)
  await take(threadAt(server.url, { token: 'plain', transport: 'sse' }).follow(), 1)
  const [socket, sse] = server.streams
  const [version, bearer = ''] = socket?.protocols?.split(', ') ?? []
  expect(version).toBe('millrace.v1')
  expect(Buffer.from(bearer.replace('millrace.bearer.', ''), 'base64url').toString()).toBe('s3cret/ü+1')
  expect(bearer).toMatch(/^[\w.-]+$/)
  expect(sse?.authorization).toBe('Bearer plain')
})

test('a token function that rejects ends it', async () => {
  await using server = await logServer()
  const token = () => Promise.reject(new Error('signed out'))
  const error = await errorOf(take(threadAt(server.url, { token }).follow(), 1))
  expect(error).toMatchObject({ code: 'auth', message: 'signed out' })
})

describe('a slow reader', () => {
  // The one of the package still emits messages after it was closed.
  test.each([
    ['the platform', globalThis.WebSocket],
    ['a package', WsSocket],
  ])('closes a socket of %s that is too fast, and continues where it was', async (_, WebSocket) => {
    const text = 'x'.repeat(100_000)
    const log = logOf(120).map(
      (entry): Entry => ({ ...entry, event: { type: 'text', text: `${entry.seq}${text}` } }),
    )
    await using server = await logServer({ log })
    const failures: unknown[] = []
    const onRetry = (error: unknown) => failures.push(error)
    const entries = threadAt(server.url, { transport: 'websocket', WebSocket, onRetry }).follow()
    const taken: Entry[] = []
    const { value } = await entries.next()
    if (value) taken.push(value)
    await server.streams[0]?.closed
    for await (const entry of entries) {
      taken.push(entry)
      if (entry.seq === 120) break
    }
    expectWhole(taken, log)
    expect(failures).toEqual([])
    const [, second] = server.streams
    expect(second?.after).toBeGreaterThan(10)
    expect(second?.after).toBeLessThan(60)
  })

  test('gets an entry that is larger than the buffer', async () => {
    const [entry] = logOf(1) as [Entry]
    const log: Entry[] = [{ ...entry, event: { type: 'text', text: 'x'.repeat(9_000_000) } }]
    await using server = await logServer({ log })
    expect(await take(threadAt(server.url, { transport: 'websocket' }).follow(), 1)).toEqual(log)
    expect(server.streams).toHaveLength(1)
  })

  test('does not count as silence of the server', async () => {
    const log = logOf(3)
    await using server = await logServer({ log })
    await using proxy = await cuttingProxy({ port: server.port, slice: 150 })
    const entries = threadAt(proxy.url, { transport: 'sse', silenceMs: 1500 }).follow()
    await entries.next()
    await new Promise((resolve) => setTimeout(resolve, 1600))
    await take(entries, 3)
    expect(server.streams).toHaveLength(1)
  })
})

test('a socket that was closed because the thread was deleted is not reopened', async () => {
  await using server = await logServer({ log: logOf(3), faults: [{ close: 4404 }] })
  expect(await take(threadAt(server.url, { transport: 'websocket' }).follow(), 9)).toHaveLength(3)
  expect(server.streams).toHaveLength(1)
})

test('delays only grow while no entries arrive', async () => {
  const waitsFor = async (fault: Fault) => {
    const waits: number[] = []
    await using server = await logServer({ log: logOf(8), faults: Array.from({ length: 7 }, () => fault) })
    const retry = { attempts: 9, baseMs: 2 }
    const thread = threadAt(server.url, {
      transport: 'sse',
      retry,
      onRetry: (_, delayMs) => waits.push(delayMs),
    })
    await take(thread.follow(), 8)
    expect(waits).toHaveLength(7)
    return waits
  }
  const one = await waitsFor({ transform: (entries) => entries.slice(0, 1), close: 1 })
  expect(Math.max(...one)).toBeLessThanOrEqual(2)
  const none = await waitsFor({ status: 500 })
  none.forEach((delayMs, index) => {
    expect(delayMs).toBeGreaterThanOrEqual(2 ** index)
    expect(delayMs).toBeLessThanOrEqual(2 ** (index + 1))
  })
})

test('over a WebSocket, pings are sent and answered', async () => {
  await using server = await logServer({ log: logOf(1), faults: [{ suffix: '{"type":"ping"}' }] })
  const entries = threadAt(server.url, { transport: 'websocket', silenceMs: 450 }).follow()
  await entries.next()
  const waiting = entries.next()
  const received = server.streams[0]?.received ?? []
  await until(() => received.filter((frame) => frame === '{"type":"ping"}').length > 2)
  expect(received[0]).toBe('{"type":"pong"}')
  expect(server.streams).toHaveLength(1)
  await entries.return?.()
  await waiting
})

test("the server's retry delay is used, unless the caller has set one", async () => {
  const retryHint = { suffix: 'retry: 40000\n\n', close: 1 }
  const delayWith = async (options: ClientOptions) => {
    await using server = await logServer({ log: logOf(1), faults: [retryHint] })
    const waits = Promise.withResolvers<number>()
    const desk = client(server.url, {
      transport: 'sse',
      onRetry: (_, delayMs) => waits.resolve(delayMs),
      ...options,
    })
    const entries = desk.thread('t1').follow()
    await entries.next()
    const next = entries.next()
    const delayMs = await waits.promise
    await entries.return?.()
    await next
    return delayMs
  }
  expect(await delayWith({ retry: { maxDelayMs: 60_000 } })).toBeGreaterThanOrEqual(20_000)
  expect(await delayWith({ retry: { maxDelayMs: 60_000, baseMs: 10 } })).toBeLessThanOrEqual(10)
})

test('retry-after of a server is respected', async () => {
  const busy = { status: 503, headers: { 'retry-after': '30' } }
  await using server = await logServer({ faults: [busy, busy] })
  const waits = Promise.withResolvers<number>()
  const desk = client(server.url, { transport: 'sse', onRetry: (_, delayMs) => waits.resolve(delayMs) })
  const entries = desk.thread('t1').follow()
  const next = entries.next()
  expect(await waits.promise).toBeGreaterThanOrEqual(30_000)
  await entries.return?.()
  expect(await next).toEqual({ done: true, value: undefined })
})

test('a stream with CRLF and a byte order mark is read', async () => {
  const log = logOf(2)
  const suffix = `\ufeff${log.map(frameOf).join('').replaceAll('\n', '\r\n')}`
  await using server = await logServer({ faults: [{ suffix }] })
  expect(await take(threadAt(server.url, { transport: 'sse' }).follow(), 2)).toEqual(log)
})

test('a response that is not an event stream is an error', async () => {
  await using server = await logServer({
    faults: [{ headers: { 'content-type': 'text/html' }, suffix: '<p>', close: 1 }],
  })
  const thread = threadAt(server.url, { transport: 'sse', retry: { attempts: 1 } })
  const error = await errorOf(take(thread.follow(), 1))
  expect(error.message).toContain('text/html instead of an event stream: check the URL')
})
