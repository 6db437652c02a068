import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { client } from '../client/index.ts'
import type { Entry } from '../protocol/index.ts'
import { MillraceError, wholeLog } from '../protocol/index.ts'
import { socketClient, storyteller, until } from '../protocols/protocols.test-kit.ts'
import { clientFrame, rawSocket } from '../protocols/raw-frames.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import { memoryExchanges, memoryStore } from '../threads/index.ts'
import { untilIdle } from '../threads/threads.test-kit.ts'
import { tool } from '../tools/index.ts'
import { byToken, rejectedUpgrade, served } from './server.test-kit.ts'

describe('the requests of one user', () => {
  test('are limited per user, with a retry-after', async () => {
    const { ask } = served(storyteller(), { auth: byToken, limits: { requestsPerSecond: 1 } })
    for (let turn = 0; turn < 4; turn++)
      expect((await ask('GET', '/threads', { as: 'ann' })).status).toBe(200)
    const rejected = await ask('GET', '/threads', { as: 'ann' })
    expect(rejected.status).toBe(429)
    expect(await rejected.json()).toMatchObject({ error: { code: 'rate_limit' } })
    expect(Number(rejected.headers.get('retry-after'))).toBe(1)
    expect((await ask('GET', '/threads', { as: 'bob' })).status).toBe(200)
    expect((await ask('GET', '/healthz')).status).toBe(200)
  })

  test('include commands over a socket, which are rejected without closing it', async () => {
    const { ask, app } = served(storyteller(), { auth: byToken, limits: { requestsPerSecond: 2 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const client = await socketClient(`${url}/threads/${id}/socket`, { headers })
    // Of a burst of eight, creating the thread took one and the socket four.
    for (let turn = 1; turn <= 12; turn++) client.send({ type: 'stop', id: turn })
    const { id: rejected, code } = await client.frame('error')
    expect(code).toBe('rate_limit')
    expect(rejected).toBeGreaterThan(3)
    expect(client.frames.filter(({ type }) => type === 'ack')).toHaveLength(Number(rejected) - 1)
    client.send({ type: 'ping' })
    await client.frame('pong')
  })

  test('count four for a stream', async () => {
    const { ask, app } = served(storyteller(), { auth: byToken, limits: { requestsPerSecond: 1 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    await socketClient(`${url}/threads/${id}/socket`, { headers })
    expect(await rejectedUpgrade(`${url}/threads/${id}/socket`, { headers })).toMatchObject({ status: 429 })
    const events = { as: 'ann', headers: { accept: 'text/event-stream' } }
    expect((await ask('GET', `/threads/${id}/events`, events)).status).toBe(429)
  })

  test('are not limited if neither user nor address is known', async () => {
    const { ask } = served(storyteller(), { limits: { requestsPerSecond: 1 } })
    for (let turn = 0; turn < 20; turn++) expect((await ask('GET', '/threads')).status).toBe(200)
  })

  test('include a limit on open streams', async () => {
    const { ask, app } = served(storyteller(), { auth: byToken, limits: { streams: 2 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const one = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
    const two = await socketClient(`${url}/threads/${id}/socket`, { headers })
    expect((await ask('GET', `/threads/${id}/events`, { as: 'ann' })).status).toBe(429)
    expect(await rejectedUpgrade(`${url}/threads/${id}/socket`, { headers })).toMatchObject({ status: 429 })
    const others = await ask('POST', '/threads', { as: 'bob' })
    const bobs = await ask('GET', `/threads/${(await others.json()).id}/events`, { as: 'bob' })
    expect(bobs.status).toBe(200)
    await bobs.body?.cancel()
    await one.body?.cancel()
    const three = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
    expect(three.status).toBe(200)
    two.ws.close()
    await two.closed
    await until(async () => {
      const four = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
      await four.body?.cancel()
      return four.status === 200
    })
    await three.body?.cancel()
  })

  test('for a message with events are rejected before the message is accepted', async () => {
    const { ask } = served(storyteller(), { auth: byToken, limits: { streams: 1 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const open = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
    const accept = { accept: 'text/event-stream' }
    const rejected = await ask('POST', `/threads/${id}/messages`, {
      as: 'ann',
      body: { message: 'x' },
      headers: accept,
    })
    expect(rejected.status).toBe(429)
    await open.body?.cancel()
    expect(await (await ask('GET', `/threads/${id}`, { as: 'ann' })).json()).toMatchObject({ head: 0 })
  })

  test('free their stream slot when they are aborted before the response is read', async () => {
    const { app, ask } = served(storyteller(), { auth: byToken, limits: { streams: 1 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    for (let turn = 0; turn < 3; turn++) {
      const stop = new AbortController()
      const headers = { authorization: 'Bearer ann' }
      const answer = await app.fetch(
        new Request(`http://localhost/threads/${id}/events`, { headers, signal: stop.signal }),
      )
      expect(answer.status).toBe(200)
      stop.abort()
    }
  })
})

describe('a temporary error of the store', () => {
  test.each([
    ['rate_limit', 429],
    ['overloaded', 503],
  ] as const)('%s is reported with a retry-after, over HTTP and over a socket', async (code, status) => {
    const signal = async () => {
      const message = 'too much is stored for this caller'
      throw new MillraceError({ op: 'thread.send', code, message, retryAfterMs: 2500, status: 418 })
    }
    const { app, ask } = served(storyteller(), {}, { store: { ...memoryStore(), signal } })
    await app.thread('one').create()
    const error = { code, message: 'too much is stored for this caller', retryAfterMs: 2500 }
    const rejected = await ask('POST', '/threads/one/messages', { body: { message: 'Hi' } })
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([status, '3'])
    expect(await rejected.json()).toEqual({ error })
    const { url } = await app.listen()
    const client = await socketClient(`${url}/threads/one/socket`)
    client.send({ type: 'send', id: 7, message: 'Hi' })
    expect(await client.frame('error')).toEqual({ type: 'error', id: 7, ...error })
  })

  test('without a delay asks clients to retry after a second', async () => {
    const get = async () => {
      throw new MillraceError({ op: 'thread.info', code: 'store_error', message: '/var/lib/secret.db' })
    }
    const { ask } = served(storyteller(), { onError: () => {} }, { store: { ...memoryStore(), get } })
    const rejected = await ask('GET', '/threads/one')
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1'])
  })
})

test('a large body counts as many requests', async () => {
  const { app } = served(storyteller(), { limits: { requestsPerSecond: 5 } })
  const { url } = await app.listen()
  const thread = app.thread('one')
  await thread.create()
  const send = (message: string) =>
    fetch(`${url}/threads/one/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })
  // A burst may be four times as large.
  for (let count = 0; count < 10; count++) expect((await send('Hi')).status).toBe(202)
  expect((await send('x'.repeat(900_000))).status).toBe(202)
  const rejected = await send('Hi')
  expect(rejected.status).toBe(429)
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
})

describe('large responses', () => {
  const json = { headers: { accept: 'application/json' } }

  async function long() {
    const exchanges = memoryExchanges()
    const model = scriptedModel(({ messages }) => (messages.length % 2 === 1 ? 'x'.repeat(60_000) : 'y'))
    const given = served(
      agent({ name: 'long', model }),
      { limits: { responseBytes: 100_000 } },
      { exchanges, store: memoryStore() },
    )
    const thread = given.app.thread('long')
    for (let count = 0; count < 4; count++) await untilIdle(thread, await thread.send(`go ${count}`))
    return { ...given, thread }
  }

  test('entries are paginated by size, with the start of the next page', async () => {
    const { ask, thread } = await long()
    const seen: Entry[] = []
    let pages = 0
    for (let after: number | undefined = 0; after !== undefined; pages++) {
      const answer = await ask('GET', `/threads/long/events?limit=10000&after=${after}`, json)
      const text = await answer.text()
      expect(text.length).toBeLessThan(150_000)
      const page = JSON.parse(text)
      seen.push(...page.entries)
      after = page.next
    }
    expect(pages).toBeGreaterThan(2)
    expect(seen).toEqual(await wholeLog(thread))
  })

  test('a thread is returned with its last messages, and how to get earlier ones', async () => {
    const { ask, thread } = await long()
    const { messages } = await thread.state()
    const seen: unknown[] = []
    for (let query = ''; ; ) {
      const text = await (await ask('GET', `/threads/long${query}`)).text()
      expect(text.length).toBeLessThan(150_000)
      const view = JSON.parse(text)
      seen.unshift(...view.messages)
      if (!view.earlier) break
      query = `?before=${view.earlier.messages}`
    }
    expect(seen).toEqual(messages)
  })

  test('model calls are paginated by whole rounds', async () => {
    const rounds = Array.from({ length: 5 }, (_, round) => [
      { call: 'more', input: {} },
      { text: `${round}` },
    ])
    const more = tool({
      name: 'more',
      description: 'More',
      input: z.object({}),
      run: () => 'x'.repeat(30_000),
    })
    const { ask, app } = served(
      agent({ name: 'rounds', model: scriptedModel([...rounds, 'Done.']), tools: [more] }),
      { limits: { responseBytes: 100_000 } },
      { exchanges: memoryExchanges() },
    )
    const { url } = await app.listen()
    const thread = app.thread('t')
    await untilIdle(thread, await thread.send('go'))
    const { run } = await thread.state()
    const page = await (await ask('GET', `/threads/t/exchanges?run=${run?.id}`)).json()
    expect(page.exchanges.length).toBeLessThan(6)
    expect(page.next).toBe(page.exchanges.at(-1).round)
    const next = await (await ask('GET', `/threads/t/exchanges?run=${run?.id}&after=${page.next}`)).json()
    expect(next.exchanges[0].round).toBe(page.next + 1)
    const all = await client(url)
      .thread('t')
      .exchanges({ run: run?.id as string })
    expect(all.map(({ round }) => round)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('the test script of a long conversation needs the command line', async () => {
    const { ask } = await long()
    const rejected = await ask('GET', '/threads/long/test-script')
    expect(rejected.status).toBe(413)
    expect((await rejected.json()).error.message).toContain('millrace export long --format test')
  })
})

describe('the limit', () => {
  test('of metadata is 16 KiB', async () => {
    const { ask } = served()
    const rejected = await ask('POST', '/threads', { body: { metadata: { a: 'x'.repeat(20_000) } } })
    expect(rejected.status).toBe(400)
    expect((await rejected.json()).error.message).toContain('at most 16384 bytes of JSON, not 20008')
  })

  test('of all streams applies to the whole server', async () => {
    const { ask, app } = served(storyteller(), { limits: { connections: 1 } })
    await app.thread('one').create()
    const one = await ask('GET', '/threads/one/events')
    const two = await ask('GET', '/threads/one/events')
    expect([two.status, two.headers.get('retry-after')]).toEqual([503, '5'])
    await one.body?.cancel()
    const three = await ask('GET', '/threads/one/events')
    expect(three.status).toBe(200)
    await three.body?.cancel()
  })

  test('of connections applies to the whole server', async () => {
    const { app } = served(storyteller(), { limits: { connections: 2 } })
    const { port } = await app.listen()
    const open = () => opens(port, '127.0.0.1')
    expect([await open(), await open(), await open()]).toEqual([true, true, false])
  })

  test('of connections from one address leaves room for others', async () => {
    const { app } = served(storyteller(), { limits: { connectionsPerAddress: 2 } })
    const { port } = await app.listen()
    const open = (address: string) => opens(port, address)
    expect([await open('127.0.0.1'), await open('127.0.0.1'), await open('127.0.0.1')]).toEqual([
      true,
      true,
      false,
    ])
    expect(await open('127.0.0.2')).toBe(true)
  })

  test('of connections from one address does not apply to a trusted proxy', async () => {
    const { app } = served(storyteller(), { limits: { connectionsPerAddress: 1 }, trustProxy: true })
    const { port } = await app.listen()
    expect([await opens(port, '127.0.0.1'), await opens(port, '127.0.0.1')]).toEqual([true, true])
  })

  function opens(port: number, localAddress: string): Promise<boolean> {
    return new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      onTestFinished(() => void socket.destroy())
      socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
      socket.once('data', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => resolve(false))
    })
  }

  test('of headers rejects larger ones', async () => {
    const { app } = served(storyteller(), { limits: { headerBytes: 2048 } })
    const { url } = await app.listen()
    expect((await fetch(`${url}/healthz`, { headers: { 'x-long': 'x'.repeat(3000) } })).status).toBe(431)
    expect((await fetch(`${url}/healthz`, { headers: { 'x-long': 'x'.repeat(1000) } })).status).toBe(200)
  })

  test('of a body rejects a larger one while it arrives, and the client gets the response', async () => {
    const { app } = served(storyteller(), { limits: { bodyBytes: 1000 } })
    const { url, port } = await app.listen()
    const headers = { 'content-type': 'application/json' }
    const post = (body: string) => fetch(`${url}/threads`, { method: 'POST', headers, body })
    expect((await post(JSON.stringify({ metadata: { a: 'x'.repeat(2_000_000) } }))).status).toBe(413)
    expect((await post('{}')).status).toBe(201)
    // A body without a length that never ends.
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write(
      'POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    const chunks = setInterval(() => socket.write(`1000\r\n${' '.repeat(0x1000)}\r\n`), 1)
    onTestFinished(() => clearInterval(chunks))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (data) => {
      answer += data
    })
    await new Promise((resolve) => socket.once('close', resolve))
    expect(answer).toMatch(/^HTTP\/1.1 413 /)
    expect(answer).toContain('1000 bytes')
  })

  test('of a frame closes the socket', async () => {
    const { app } = served(storyteller(), { limits: { frameBytes: 1000 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    const client = await socketClient(`${url}/threads/one/socket`)
    client.send({ type: 'send', message: 'x'.repeat(2000) })
    expect(await client.closed).toMatchObject({ code: 1009 })
    expect((await app.thread('one').info()).head).toBe(0)
  })

  test('of frames per second disconnects a flooding client', async () => {
    const { app } = served(storyteller(), { limits: { framesPerSecond: 5 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    for (const flood of [
      (client: Awaited<ReturnType<typeof socketClient>>) => client.send('nonsense'),
      (client: Awaited<ReturnType<typeof socketClient>>) => client.send({ type: 'ping' }),
      (client: Awaited<ReturnType<typeof socketClient>>) => client.ws.ping(),
    ]) {
      const client = await socketClient(`${url}/threads/one/socket`)
      for (let frame = 0; frame < 40; frame++) flood(client)
      expect(await client.closed).toMatchObject({ code: 1008, reason: 'too many frames' })
    }
  })

  const ping = Buffer.from('{"type":"ping"}')
  const fragment = clientFrame(0, undefined, { fin: false })
  const beginning = clientFrame(1, undefined, { fin: false })
  const inFragments = Buffer.concat([
    beginning,
    ...Array.from({ length: 9 }, () => fragment),
    clientFrame(0, ping),
  ])
  test.each<[string, Buffer[]]>([
    ['pings', Array.from({ length: 60 }, () => clientFrame(9))],
    ['unsolicited pongs', Array.from({ length: 60 }, () => clientFrame(10))],
    ['empty fragments of one message', [beginning, ...Array.from({ length: 60 }, () => fragment)]],
    ['fragments of a few messages', Array.from({ length: 4 }, () => inFragments)],
  ])('of frames per second counts %s on the wire', async (_, frames) => {
    const { app } = served(storyteller(), { limits: { framesPerSecond: 5 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    const client = await rawSocket(`${url}/threads/one/socket`)
    client.socket.write(Buffer.concat(frames))
    expect(await client.closed).toBe(1008)
  })

  test('of frames per second does not count pongs that answer a ping', async () => {
    const { app } = served(storyteller(), { heartbeatMs: 5, limits: { framesPerSecond: 1 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    const client = await socketClient(`${url}/threads/one/socket`)
    let pings = 0
    client.ws.on('ping', () => pings++)
    await until(() => pings >= 12)
    client.send({ type: 'ping' })
    await client.frame('pong')
  })

  test('is checked when it is set', () => {
    expect(() => served(storyteller(), { limits: { bodyBytes: 0 } })).toThrow(/limits.*bodyBytes/)
    expect(() => served(storyteller(), { limits: { bodyByte: 10 } as never })).toThrow(
      /did you mean 'bodyBytes'/,
    )
  })
})
