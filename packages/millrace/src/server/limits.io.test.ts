import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { client } from '../client/index.ts'
import type { Entry } from '../protocol/index.ts'
import { MillraceError, wholeLog } from '../protocol/index.ts'
import { socketClient, teller, until } from '../protocols/protocols.test-kit.ts'
import { clientFrame, rawSocket } from '../protocols/raw-frames.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import { memoryExchanges, memoryStore } from '../threads/index.ts'
import { untilIdle } from '../threads/threads.test-kit.ts'
import { tool } from '../tools/index.ts'
import { byToken, refusedUpgrade, served } from './server.test-kit.ts'

describe('what one user may ask for', () => {
  test('is limited, each for themselves, and they are told when to come back', async () => {
    const { ask } = served(teller(), { auth: byToken, limits: { requestsPerSecond: 1 } })
    for (let turn = 0; turn < 4; turn++)
      expect((await ask('GET', '/threads', { as: 'ann' })).status).toBe(200)
    const refused = await ask('GET', '/threads', { as: 'ann' })
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit' } })
    expect(Number(refused.headers.get('retry-after'))).toBe(1)
    expect((await ask('GET', '/threads', { as: 'bob' })).status).toBe(200)
    expect((await ask('GET', '/healthz')).status).toBe(200)
  })

  test('counts what comes over a socket too, and that is refused without closing it', async () => {
    const { ask, app } = served(teller(), { auth: byToken, limits: { requestsPerSecond: 2 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const client = await socketClient(`${url}/threads/${id}/socket`, { headers })
    // Of eight at once the thread has taken one and the socket four.
    for (let turn = 1; turn <= 12; turn++) client.send({ type: 'stop', id: turn })
    const { id: refused, code } = await client.frame('error')
    expect(code).toBe('rate_limit')
    expect(refused).toBeGreaterThan(3)
    expect(client.frames.filter(({ type }) => type === 'ack')).toHaveLength(Number(refused) - 1)
    client.send({ type: 'ping' })
    await client.frame('pong')
  })

  test('counts a stream as four requests', async () => {
    const { ask, app } = served(teller(), { auth: byToken, limits: { requestsPerSecond: 1 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    await socketClient(`${url}/threads/${id}/socket`, { headers })
    expect(await refusedUpgrade(`${url}/threads/${id}/socket`, { headers })).toMatchObject({ status: 429 })
    const events = { as: 'ann', headers: { accept: 'text/event-stream' } }
    expect((await ask('GET', `/threads/${id}/events`, events)).status).toBe(429)
  })

  test('is not limited where neither user nor address are known', async () => {
    const { ask } = served(teller(), { limits: { requestsPerSecond: 1 } })
    for (let turn = 0; turn < 20; turn++) expect((await ask('GET', '/threads')).status).toBe(200)
  })

  test('as streams is limited too, until one of them is closed', async () => {
    const { ask, app } = served(teller(), { auth: byToken, limits: { streams: 2 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const one = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
    const two = await socketClient(`${url}/threads/${id}/socket`, { headers })
    expect((await ask('GET', `/threads/${id}/events`, { as: 'ann' })).status).toBe(429)
    expect(await refusedUpgrade(`${url}/threads/${id}/socket`, { headers })).toMatchObject({ status: 429 })
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

  test('as a message with its events is refused before the message is accepted', async () => {
    const { ask } = served(teller(), { auth: byToken, limits: { streams: 1 } })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const open = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
    const accept = { accept: 'text/event-stream' }
    const refused = await ask('POST', `/threads/${id}/messages`, {
      as: 'ann',
      body: { message: 'x' },
      headers: accept,
    })
    expect(refused.status).toBe(429)
    await open.body?.cancel()
    expect(await (await ask('GET', `/threads/${id}`, { as: 'ann' })).json()).toMatchObject({ head: 0 })
  })

  test('is free again when a request is aborted before its answer is read', async () => {
    const { app, ask } = served(teller(), { auth: byToken, limits: { streams: 1 } })
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

describe('what the store refuses for now', () => {
  test.each([
    ['rate_limit', 429],
    ['overloaded', 503],
  ] as const)('with %s is said with when to come back, over HTTP and over a socket', async (code, status) => {
    const signal = async () => {
      const message = 'too much is stored for this caller'
      throw new MillraceError({ op: 'thread.send', code, message, retryAfterMs: 2500, status: 418 })
    }
    const { app, ask } = served(teller(), {}, { store: { ...memoryStore(), signal } })
    await app.thread('one').create()
    const error = { code, message: 'too much is stored for this caller', retryAfterMs: 2500 }
    const refused = await ask('POST', '/threads/one/messages', { body: { message: 'Hi' } })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([status, '3'])
    expect(await refused.json()).toEqual({ error })
    const { url } = await app.listen()
    const client = await socketClient(`${url}/threads/one/socket`)
    client.send({ type: 'send', id: 7, message: 'Hi' })
    expect(await client.frame('error')).toEqual({ type: 'error', id: 7, ...error })
  })

  test('without a word on when is tried again after a second', async () => {
    const get = async () => {
      throw new MillraceError({ op: 'thread.info', code: 'store_error', message: '/var/lib/secret.db' })
    }
    const { ask } = served(teller(), { onError: () => {} }, { store: { ...memoryStore(), get } })
    const refused = await ask('GET', '/threads/one')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  })
})

test('a large body and a large answer count as many requests', async () => {
  const { app } = served(teller(), { limits: { requestsPerSecond: 5 } })
  const { url } = await app.listen()
  const thread = app.thread('one')
  await thread.create()
  const send = (message: string) =>
    fetch(`${url}/threads/one/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })
  // A burst is four times as many.
  for (let count = 0; count < 10; count++) expect((await send('Hi')).status).toBe(202)
  expect((await send('x'.repeat(900_000))).status).toBe(202)
  const refused = await send('Hi')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})

describe('what the server answers with', () => {
  const json = { headers: { accept: 'application/json' } }

  async function long() {
    const exchanges = memoryExchanges()
    const model = scriptedModel(({ messages }) => (messages.length % 2 === 1 ? 'x'.repeat(60_000) : 'y'))
    const given = served(
      agent({ name: 'long', model }),
      { limits: { answerBytes: 100_000 } },
      { exchanges, store: memoryStore() },
    )
    const thread = given.app.thread('long')
    for (let count = 0; count < 4; count++) await untilIdle(thread, await thread.send(`go ${count}`))
    return { ...given, thread }
  }

  test('entries come in pages by bytes, and the answer says where the next begins', async () => {
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

  test('a conversation is answered with its last messages, and how to get those before', async () => {
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

  test('model calls come in pages of whole rounds', async () => {
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
      { limits: { answerBytes: 100_000 } },
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

  test('a test of a long conversation is left to the command line', async () => {
    const { ask } = await long()
    const refused = await ask('GET', '/threads/long/test-script')
    expect(refused.status).toBe(413)
    expect((await refused.json()).error.message).toContain('millrace export long --format test')
  })
})

describe('what the server takes', () => {
  test('metadata is for labels', async () => {
    const { ask } = served()
    const refused = await ask('POST', '/threads', { body: { metadata: { a: 'x'.repeat(20_000) } } })
    expect(refused.status).toBe(400)
    expect((await refused.json()).error.message).toContain('at most 16384 bytes of JSON, not 20008')
  })

  test('streams are limited in all', async () => {
    const { ask, app } = served(teller(), { limits: { connections: 1 } })
    await app.thread('one').create()
    const one = await ask('GET', '/threads/one/events')
    const two = await ask('GET', '/threads/one/events')
    expect([two.status, two.headers.get('retry-after')]).toEqual([503, '5'])
    await one.body?.cancel()
    const three = await ask('GET', '/threads/one/events')
    expect(three.status).toBe(200)
    await three.body?.cancel()
  })

  test('connections are limited', async () => {
    const { app } = served(teller(), { limits: { connections: 2 } })
    const { port } = await app.listen()
    const open = () => opens(port, '127.0.0.1')
    expect([await open(), await open(), await open()]).toEqual([true, true, false])
  })

  test('connections from one address leave room for others, and are free again when they close', async () => {
    const { app } = served(teller(), { limits: { connectionsPerAddress: 2 } })
    const { port } = await app.listen()
    const open = (address: string) => opens(port, address)
    expect([await open('127.0.0.1'), await open('127.0.0.1'), await open('127.0.0.1')]).toEqual([
      true,
      true,
      false,
    ])
    expect(await open('127.0.0.2')).toBe(true)
  })

  test('connections of a trusted proxy are not those of one client', async () => {
    const { app } = served(teller(), { limits: { connectionsPerAddress: 1 }, trustProxy: true })
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

  test('headers that are too large are refused', async () => {
    const { app } = served(teller(), { limits: { headerBytes: 2048 } })
    const { url } = await app.listen()
    expect((await fetch(`${url}/healthz`, { headers: { 'x-long': 'x'.repeat(3000) } })).status).toBe(431)
    expect((await fetch(`${url}/healthz`, { headers: { 'x-long': 'x'.repeat(1000) } })).status).toBe(200)
  })

  test('a body that is too large is refused while it comes, and the client gets to know', async () => {
    const { app } = served(teller(), { limits: { bodyBytes: 1000 } })
    const { url, port } = await app.listen()
    const headers = { 'content-type': 'application/json' }
    const post = (body: string) => fetch(`${url}/threads`, { method: 'POST', headers, body })
    expect((await post(JSON.stringify({ metadata: { a: 'x'.repeat(2_000_000) } }))).status).toBe(413)
    expect((await post('{}')).status).toBe(201)
    // One that never ends and does not say how long it is.
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

  test('a frame that is too large closes the socket', async () => {
    const { app } = served(teller(), { limits: { frameBytes: 1000 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    const client = await socketClient(`${url}/threads/one/socket`)
    client.send({ type: 'send', message: 'x'.repeat(2000) })
    expect(await client.closed).toMatchObject({ code: 1009 })
    expect((await app.thread('one').info()).head).toBe(0)
  })

  test('a client that sends frames without end is sent away', async () => {
    const { app } = served(teller(), { limits: { framesPerSecond: 5 } })
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
    ['pongs that answer nothing', Array.from({ length: 60 }, () => clientFrame(10))],
    ['empty fragments of one message', [beginning, ...Array.from({ length: 60 }, () => fragment)]],
    ['fragments of a few messages', Array.from({ length: 4 }, () => inFragments)],
  ])('a flood of %s is counted on the wire', async (_, frames) => {
    const { app } = served(teller(), { limits: { framesPerSecond: 5 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    const client = await rawSocket(`${url}/threads/one/socket`)
    client.socket.write(Buffer.concat(frames))
    expect(await client.closed).toBe(1008)
  })

  test('a pong that answers a ping costs nothing', async () => {
    const { app } = served(teller(), { heartbeatMs: 5, limits: { framesPerSecond: 1 } })
    await app.thread('one').create()
    const { url } = await app.listen()
    const client = await socketClient(`${url}/threads/one/socket`)
    let pings = 0
    client.ws.on('ping', () => pings++)
    await until(() => pings >= 12)
    client.send({ type: 'ping' })
    await client.frame('pong')
  })

  test('what cannot be limited so is said when it is set', () => {
    expect(() => served(teller(), { limits: { bodyBytes: 0 } })).toThrow(/limits.*bodyBytes/)
    expect(() => served(teller(), { limits: { bodyByte: 10 } as never })).toThrow(/did you mean 'bodyBytes'/)
  })
})
