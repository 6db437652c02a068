import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WebSocket as WsSocket } from 'ws'
import { sized, stride } from '../../../../test/size.ts'
import type { Entry } from '../protocol/index.ts'
import { cuttingProxy } from './cutting-proxy.test-kit.ts'
import { eager, expectWhole, failureOf, take, until } from './follow.test-kit.ts'
import type { ClientOptions } from './index.ts'
import { client } from './index.ts'
import type { Fault } from './log-server.test-kit.ts'
import { frameOf, joined, logOf, logServer } from './log-server.test-kit.ts'

const transports = ['sse', 'websocket', 'auto'] as const

function threadAt(url: string, options: ClientOptions = {}) {
  return client(url, { ...eager, ...options }).thread('t1')
}

describe.each(transports)('over %s', (transport) => {
  test('a thread is told from its beginning, or from any number on', async () => {
    const log = logOf(20)
    await using server = await logServer({ log })
    const thread = threadAt(server.url, { transport })
    expect(await take(thread.follow(), 20)).toEqual(log)
    expect(await take(thread.follow({ after: 13 }), 20)).toEqual(log.slice(13))
    expect(server.streams.map(({ after }) => after)).toEqual([0, 13])
  })

  test('whatever goes wrong however often, each number is told once', async () => {
    const wrong = fc.oneof(
      fc
        .record({ size: fc.integer({ min: 1, max: 5 }) })
        .map(({ size }): Fault => ({ told: (entries) => joined(entries, size) })),
      fc.record({ at: fc.nat(30), back: fc.integer({ min: 1, max: 5 }) }).map(
        // Goes back in the middle, and tells again what it has told.
        ({ at, back }): Fault => ({
          told: (entries) => [...entries.slice(0, at), ...entries.slice(Math.max(0, at - back))],
        }),
      ),
      fc.record({ at: fc.nat(30), gap: fc.integer({ min: 1, max: 5 }) }).map(
        // Not the last: that nobody could know.
        ({ at, gap }): Fault => ({ told: (all) => all.toSpliced(at, Math.min(gap, all.length - at - 1)) }),
      ),
      fc.record({ at: fc.nat(30) }).map(
        // Joins what it has told with what comes next.
        ({ at }): Fault => ({
          told: (entries) => [...entries.slice(0, at), ...joined(entries.slice(Math.max(0, at - 1)), 3)],
        }),
      ),
      fc.constantFrom<Fault>(
        { status: 500 },
        { status: 503, headers: { 'retry-after': '0' } },
        { nonsense: 'data: {"seq":\n\n' },
        { nonsense: 'data: {"seq":99}\n\n' },
        { close: 1001 },
        { told: (entries) => entries.slice(0, 3), close: 1013 },
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

  test('a thread that is not there is an error', async () => {
    const body = JSON.stringify({ error: { code: 'not_found', message: "there is no thread 't1'" } })
    const fault = { status: 404, body }
    await using server = await logServer({ faults: [fault, fault] })
    const error = await failureOf(take(threadAt(server.url, { transport }).follow(), 1))
    expect(error).toMatchObject({ code: 'not_found', message: "there is no thread 't1'", status: 404 })
    expect(error.op).toBe('client.follow')
  })

  test('whoever wants to know is told that the connection is there, is lost and is there again', async () => {
    const log = logOf(9)
    const told: string[] = []
    const first: Fault = { told: (entries) => entries.slice(0, 3), close: 1013 }
    await using server = await logServer({ log, faults: [first] })
    const options = { transport, onOpen: () => told.push('open'), onRetry: () => told.push('lost') }
    expect(await take(threadAt(server.url, options).follow(), 9)).toEqual(log)
    expect(told).toEqual(['open', 'lost', 'open'])
  })

  test('one that is deleted meanwhile ends', async () => {
    const body = JSON.stringify({ error: { code: 'not_found', message: 'gone' } })
    const gone = { status: 404, body }
    await using server = await logServer({ log: logOf(3), faults: [{ close: 4404 }, gone, gone] })
    expect(await take(threadAt(server.url, { transport }).follow(), 9)).toHaveLength(3)
  })

  test.each([
    [401, 'auth'],
    [403, 'auth'],
  ])('a client that may not (%d) is told so, and not kept waiting', async (status, code) => {
    // Node asks for a socket twice when the first answer is 401.
    await using server = await logServer({ faults: [{ status }, { status }, { status }] })
    const error = await failureOf(take(threadAt(server.url, { transport }).follow(), 1))
    expect(error).toMatchObject({ code, status })
    expect(server.streams.length).toBeLessThanOrEqual(3)
  })

  test('a silence without a sign of life is a broken connection', async () => {
    const log = logOf(5)
    await using server = await logServer({ log, faults: [{ silent: true }, { silent: true }] })
    const thread = threadAt(server.url, { transport, silenceMs: 60, openMs: 60 })
    expectWhole(await take(thread.follow(), 5), log)
    await Promise.all(server.streams.slice(0, -1).map(({ closed }) => closed))
  })

  test('nobody there is an error after a few attempts', async () => {
    const server = await logServer()
    await server[Symbol.asyncDispose]()
    const failures: string[] = []
    const thread = threadAt(server.url, {
      transport,
      retry: { attempts: 3, baseMs: 1, maxDelayMs: 2 },
      onRetry: ({ code }) => failures.push(code),
    })
    const error = await failureOf(take(thread.follow(), 1))
    expect(error).toMatchObject({ code: 'stream_error', retryable: true })
    expect(error.message).toContain('cannot reach http://127.0.0.1:')
    expect(failures).toEqual(['stream_error', 'stream_error'])
  })

  test('a server that was there once is waited for', async () => {
    const log = logOf(6)
    const away = Array.from({ length: 12 }, (): Fault => ({ status: 502 }))
    const first = { told: (entries: readonly Entry[]) => entries.slice(0, 2), close: 1001 }
    await using server = await logServer({ log, faults: [first, ...away] })
    const thread = threadAt(server.url, { transport, retry: { attempts: 1, baseMs: 1, maxDelayMs: 2 } })
    expect(await take(thread.follow(), 6)).toEqual(log)
  })

  test('one that leaves out the same number each time is given up', async () => {
    const log = logOf(6)
    const skips = { told: (entries: readonly Entry[]) => entries.filter(({ seq }) => seq !== 3) }
    await using server = await logServer({ log, faults: Array.from({ length: 9 }, () => skips) })
    const taken: Entry[] = []
    const thread = threadAt(server.url, { transport, retry: { attempts: 3, baseMs: 1 } })
    const work = (async () => {
      for await (const entry of thread.follow()) taken.push(entry)
    })()
    expect((await failureOf(work)).message).toBe('after 2 the server sent 4 to 4')
    expect(taken).toEqual(log.slice(0, 2))
    expect(server.streams).toHaveLength(3)
  })

  test('what is told a second time is left out, and no reason to come back', async () => {
    const log = logOf(6)
    const twice = { told: (entries: readonly Entry[]) => [...entries.slice(0, 4), ...entries] }
    await using server = await logServer({ log, faults: [twice] })
    expect(await take(threadAt(server.url, { transport }).follow(), 6)).toEqual(log)
    expect(server.streams).toHaveLength(1)
  })

  test('ends with its signal, also if more is there already', async () => {
    await using server = await logServer({ log: logOf(20) })
    const controller = new AbortController()
    const taken: Entry[] = []
    for await (const entry of threadAt(server.url, { transport }).follow({ signal: controller.signal })) {
      taken.push(entry)
      if (entry.seq === 2) controller.abort()
    }
    expect(taken).toHaveLength(2)
  })

  test('ends with its signal, also while it waits', async () => {
    await using server = await logServer({ log: logOf(3) })
    const controller = new AbortController()
    const entries = threadAt(server.url, { transport }).follow({ signal: controller.signal })
    for (let count = 0; count < 3; count++) await entries.next()
    const waiting = entries.next()
    controller.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await Promise.all(server.streams.map(({ closed }) => closed))
  })

  test('ends when it is given up, also while somebody waits for it', async () => {
    await using server = await logServer({ log: logOf(1) })
    const entries = threadAt(server.url, { transport }).follow()
    await entries.next()
    const waiting = entries.next()
    await entries.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await Promise.all(server.streams.map(({ closed }) => closed))
  })

  test('ends at once with a signal that is aborted already', async () => {
    await using server = await logServer({ log: logOf(1) })
    const signal = AbortSignal.abort()
    expect(await take(threadAt(server.url, { transport }).follow({ signal }), 1)).toEqual([])
    expect(server.streams).toHaveLength(0)
  })
})

test.each(['sse', 'websocket'] as const)(
  'cut at any byte, %s tells it as if it had not been',
  async (transport) => {
    const log = logOf(2)
    await using server = await logServer({ log })
    let whole = false
    for (let bytes = 0; !whole; bytes += stride) {
      // One of its own each time: after a cut, Node opens a connection ahead that nobody has asked for.
      await using proxy = await cuttingProxy({
        port: server.port,
        bytes: (nth) => (nth === 0 ? bytes : undefined),
      })
      expectWhole(await take(threadAt(proxy.url, { transport }).follow(), 2), log)
      whole = proxy.count === 1
    }
  },
)

describe('until something', () => {
  test.each(transports)(
    'is over when the server says so, over SSE whatever the transport (%s)',
    async (transport) => {
      const log = logOf(5)
      await using server = await logServer({
        log,
        faults: [{ told: (entries) => entries.slice(0, 2), close: 1 }],
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

  test('leaves its connection to whatever is asked next', async () => {
    await using server = await logServer({ log: logOf(2) })
    await using proxy = await cuttingProxy({ port: server.port })
    for (let count = 0; count < 12; count++)
      expect(await take(threadAt(proxy.url).follow({ until: 'idle' }), 9)).toHaveLength(2)
    // Not quite one: it may be asked for before it is free.
    expect(proxy.count).toBeLessThan(6)
  })

  test('a stream that ends without a word is taken up again', async () => {
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

describe('the way that is taken', () => {
  const ways = (streams: readonly { over: string }[]) => streams.map(({ over }) => over)

  test('is a socket, and SSE for good where none gets through', async () => {
    const log = logOf(3)
    await using open = await logServer({ log })
    await take(threadAt(open.url).follow(), 3)
    expect(ways(open.streams)).toEqual(['socket'])

    await using closed = await logServer({ log, sockets: false })
    const desk = client(closed.url, eager)
    expect(await take(desk.thread('t1').follow(), 3)).toEqual(log)
    expect(await take(desk.thread('t2').follow(), 3)).toEqual(log)
    expect(ways(closed.streams)).toEqual(['sse', 'sse'])
    expect(closed.upgrades).toBe(1)
  })

  test('is SSE only for the moment, where sockets have worked before', async () => {
    const log = logOf(3)
    const faults = [
      { told: (entries: readonly Entry[]) => entries.slice(0, 1), close: 1001 },
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
    expect(ways(server.streams)).toEqual(['socket', 'socket', 'sse', 'socket'])
  })

  test('is SSE where there is no WebSocket', async () => {
    await using server = await logServer({ log: logOf(1) })
    const { WebSocket } = globalThis
    Reflect.deleteProperty(globalThis, 'WebSocket')
    try {
      await take(threadAt(server.url).follow(), 1)
      const error = await failureOf(
        take(threadAt(server.url, { transport: 'websocket', retry: { attempts: 1 } }).follow(), 1),
      )
      expect(error.message).toBe('there is no WebSocket here: pass one, or another transport')
    } finally {
      globalThis.WebSocket = WebSocket
    }
    expect(server.streams[0]?.over).toBe('sse')
  })

  test('is SSE with headers, which a socket cannot carry', async () => {
    await using server = await logServer({ log: logOf(1) })
    await take(threadAt(server.url, { headers: { authorization: 'Basic x' } }).follow(), 1)
    expect(server.streams).toMatchObject([{ over: 'sse', authorization: 'Basic x' }])
  })

  test('a socket that opens and says nothing is given up for SSE', async () => {
    const log = logOf(2)
    await using server = await logServer({ log, faults: [{ silent: true }] })
    expect(await take(threadAt(server.url, { openMs: 50 }).follow(), 2)).toEqual(log)
    expect(ways(server.streams)).toEqual(['socket', 'sse'])
  })
})

test('a token is shown on both ways, fresh each time if a function gives it', async () => {
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

test('a token that cannot be had ends it', async () => {
  await using server = await logServer()
  const token = () => Promise.reject(new Error('signed out'))
  const error = await failureOf(take(threadAt(server.url, { token }).follow(), 1))
  expect(error).toMatchObject({ code: 'auth', message: 'signed out' })
})

describe('a reader that takes its time', () => {
  // That of the package goes on telling after it was closed.
  test.each([
    ['the platform', globalThis.WebSocket],
    ['a package', WsSocket],
  ])('makes a socket of %s that is too fast close, and goes on from where it is', async (_, WebSocket) => {
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

  test('takes an entry that is longer than all that may wait', async () => {
    const [entry] = logOf(1) as [Entry]
    const log: Entry[] = [{ ...entry, event: { type: 'text', text: 'x'.repeat(9_000_000) } }]
    await using server = await logServer({ log })
    expect(await take(threadAt(server.url, { transport: 'websocket' }).follow(), 1)).toEqual(log)
    expect(server.streams).toHaveLength(1)
  })

  test('is no silence of the server', async () => {
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

test('a socket that is closed since the thread is gone is not opened again', async () => {
  await using server = await logServer({ log: logOf(3), faults: [{ close: 4404 }] })
  expect(await take(threadAt(server.url, { transport: 'websocket' }).follow(), 9)).toHaveLength(3)
  expect(server.streams).toHaveLength(1)
})

test('waits grow only while nothing is told', async () => {
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
  const one = await waitsFor({ told: (entries) => entries.slice(0, 1), close: 1 })
  expect(Math.max(...one)).toBeLessThanOrEqual(2)
  const none = await waitsFor({ status: 500 })
  none.forEach((delayMs, index) => {
    expect(delayMs).toBeGreaterThanOrEqual(2 ** index)
    expect(delayMs).toBeLessThanOrEqual(2 ** (index + 1))
  })
})

test('over a socket, signs of life are asked for and given', async () => {
  await using server = await logServer({ log: logOf(1), faults: [{ nonsense: '{"type":"ping"}' }] })
  const entries = threadAt(server.url, { transport: 'websocket', silenceMs: 450 }).follow()
  await entries.next()
  const waiting = entries.next()
  const heard = server.streams[0]?.heard ?? []
  await until(() => heard.filter((frame) => frame === '{"type":"ping"}').length > 2)
  expect(heard[0]).toBe('{"type":"pong"}')
  expect(server.streams).toHaveLength(1)
  await entries.return?.()
  await waiting
})

test("the server's wish how soon to come back is heard, unless the caller has one", async () => {
  const wish = { nonsense: 'retry: 40000\n\n', close: 1 }
  const delayWith = async (options: ClientOptions) => {
    await using server = await logServer({ log: logOf(1), faults: [wish] })
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

test('a server that asks for time is given it', async () => {
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

test('a stream with CRLF and a byte order mark is read as well', async () => {
  const log = logOf(2)
  const nonsense = `\ufeff${log.map(frameOf).join('').replaceAll('\n', '\r\n')}`
  await using server = await logServer({ faults: [{ nonsense }] })
  expect(await take(threadAt(server.url, { transport: 'sse' }).follow(), 2)).toEqual(log)
})

test('an answer that is not a stream is not taken for one', async () => {
  await using server = await logServer({
    faults: [{ headers: { 'content-type': 'text/html' }, nonsense: '<p>', close: 1 }],
  })
  const thread = threadAt(server.url, { transport: 'sse', retry: { attempts: 1 } })
  const error = await failureOf(take(thread.follow(), 1))
  expect(error.message).toContain('text/html and not with a stream of events: is the address right?')
})
