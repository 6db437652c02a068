import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { agent } from '../agent/index.ts'
import { muser, story, storyteller, until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Protocol, ServerOptions } from './index.ts'
import { plainText } from './plain-text.test-kit.ts'
import { byToken, rejectedUpgrade, served } from './server.test-kit.ts'

async function servePlainText(agents = storyteller(), options: ServerOptions = {}) {
  const given = served(agents, { protocols: [plainText()], ...options })
  const { url, port } = await given.app.listen()
  const user = options.auth ? { user: 'ann' } : {}
  const thread = given.app.thread('one', user)
  await thread.create()
  return { ...given, url: `${url}/plain/one`, port, thread }
}

const say = (url: string, body = 'Tell me.', headers = {}) => fetch(url, { method: 'POST', body, headers })

describe('a custom protocol', () => {
  test('streams text as it is generated, over Node and without a port', async () => {
    const { url, app, followers } = await servePlainText(storyteller(story, { paceMs: 2 }))
    const response = await say(url)
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    const chunks = await Array.fromAsync(response.body as ReadableStream<Uint8Array>)
    expect(Buffer.concat(chunks).toString()).toBe(story)
    expect(chunks.length).toBeGreaterThan(3)
    const request = new Request('http://localhost/plain/one', { method: 'POST', body: 'Again.' })
    expect(await (await app.fetch(request)).text()).toBe(story)
    await until(() => followers() === 0)
  })

  test('resumes at the exact position after each disconnect', async () => {
    const whole = 'Räder 🌊 '.repeat(300)
    const { url, thread, followers } = await servePlainText(storyteller(whole, { paceMs: 1 }))
    await thread.send('Tell me.')
    let [text, cuts] = ['', 0]
    while (text.length < whole.length) {
      const stop = new AbortController()
      const timer = setTimeout(() => stop.abort(), 5 + ((cuts * 37) % 80))
      try {
        const { body } = await fetch(`${url}?after=${text.length}`, { signal: stop.signal })
        for await (const chunk of body?.pipeThrough(new TextDecoderStream() as never) ?? []) text += chunk
      } catch {
        cuts++
      }
      clearTimeout(timer)
    }
    expect(text).toBe(whole)
    expect(cuts).toBeGreaterThan(3)
    await until(() => followers() === 0)
  })

  test('formats every error, including those of the server itself', async () => {
    const { url, app } = await servePlainText(storyteller(), {
      auth: byToken,
      limits: { requestsPerSecond: 5, streams: 1 },
    })
    const as = (user: string) => ({ authorization: `Bearer ${user}` })
    const statusAndText = async (response: Response) => [response.status, await response.text()]
    expect(await statusAndText(await fetch(url))).toEqual([
      401,
      'auth: authentication required: sign in with valid credentials\n',
    ])
    expect((await fetch(url)).headers.get('www-authenticate')).toBe('Bearer')
    const bob = { headers: as('bob') }
    expect(await statusAndText(await fetch(url, bob))).toEqual([404, 'not_found: there is no such thread\n'])
    const there = url.replace('/one', '')
    expect(await statusAndText(await fetch(`${there}/one/two`, bob))).toEqual([
      404,
      'not_found: no route matches this path\n',
    ])
    const put = await fetch(url, { method: 'PUT', ...bob })
    expect(put.headers.get('allow')).toBe('GET, POST')
    expect(await statusAndText(put)).toEqual([405, 'invalid_input: method not allowed: use GET, POST\n'])
    expect(await statusAndText(await say(url, 'x'.repeat(1001), as('ann')))).toEqual([
      413,
      'invalid_input: the body is larger than 1000 bytes\n',
    ])
    expect(await statusAndText(await fetch(`${url}?after=x`, { headers: as('ann') }))).toEqual([
      400,
      'invalid_input: after must be a number of characters\n',
    ])
    let rejected = await fetch(url, bob)
    while (rejected.status === 404) rejected = await fetch(url, bob)
    expect(rejected.headers.get('retry-after')).toBe('1')
    expect(await statusAndText(rejected)).toEqual([429, 'rate_limit: too many requests: slow down\n'])
    const foreign = new Request('http://evil.example/plain/one')
    expect(await statusAndText(await app.fetch(foreign))).toEqual([
      403,
      expect.stringMatching(/^auth: unknown host/),
    ])
    // Other paths use the default format.
    expect(await (await fetch(url.replace('plain', 'threads'))).json()).toMatchObject({
      error: { code: 'auth' },
    })
    await app.close({ graceMs: 0 })
    const late = await app.fetch(new Request('http://localhost/plain/one'))
    expect(await statusAndText(late)).toEqual([503, 'overloaded: the server is shutting down: try again\n'])
  })

  test('gets internal error details without auth, but not with auth', async () => {
    const model = scriptedModel(() => [{ error: { code: 'auth', message: 'key sk-1 refused' } }])
    const reading: Protocol = {
      name: 'failures',
      mount: () => ({
        routes: [
          {
            method: 'POST',
            path: '/failures',
            async handle({ caller, signal }) {
              const { thread } = await caller.createThread({ agent: 'broken' })
              const seq = await thread.send('Hi')
              const events = thread.follow({ until: seq, signal })
              return Response.json(await Array.fromAsync(events))
            },
          },
        ],
      }),
    }
    for (const [auth, leaks] of [
      [undefined, true],
      [byToken, false],
    ] as const) {
      const { ask } = served(agent({ name: 'broken', model }), { protocols: [reading], auth })
      const text = await (await ask('POST', '/failures', { as: 'ann' })).text()
      expect(text.includes('sk-1')).toBe(leaks)
    }
  })

  test('sends no message if the stream is rejected, and frees the slot of a failed request', async () => {
    const { url, thread } = await servePlainText(muser(), { limits: { streams: 1 } })
    const open = await fetch(url.replace('plain', 'threads').concat('/events'))
    expect((await say(url)).status).toBe(429)
    expect((await thread.info()).head).toBe(0)
    await open.body?.cancel()
    // Rejected because of the message, after the slot was taken.
    for (let turn = 0; turn < 3; turn++) {
      const { status } = await say(url, '')
      expect([400, 429]).toContain(status)
    }
    await until(async () => (await say(url, '')).status === 400)
  })

  test('stops following if the request fails after all', async () => {
    const failing: Protocol = {
      name: 'failing',
      mount: () => ({
        routes: [
          {
            method: 'GET',
            path: '/failing/:id',
            async handle(context) {
              const { thread } = await context.caller.getThread(context.params.id as string)
              context.openStream().follow(thread, {}, { headers: {}, entry: () => undefined })
              throw new Error('on second thoughts')
            },
          },
        ],
      }),
    }
    const { url, app, followers } = await servePlainText(storyteller(), {
      protocols: [failing],
      limits: { streams: 1 },
      onError: () => {},
    })
    for (let turn = 0; turn < 3; turn++) {
      expect((await fetch(url.replace('plain', 'failing'))).status).toBe(500)
      const request = new Request('http://localhost/failing/one')
      expect((await app.fetch(request, { remoteAddress: '127.0.0.1' })).status).toBe(500)
    }
    expect(followers()).toBe(0)
  })

  test('ends streams when access is revoked, in its own format', async () => {
    const { url, app, thread } = await servePlainText(muser(), { auth: byToken })
    await thread.send('Think.')
    const response = await fetch(url, { headers: { authorization: 'Bearer ann' } })
    const text = response.text()
    await until(() => app.signOut('ann') > 0)
    expect(await text).toMatch(/\[auth\]\n$/)
  })

  test('disconnects a client that does not read', async () => {
    const flood = 'x'.repeat(1024 * 1024)
    const { thread, port, followers } = await servePlainText(storyteller(flood, { deltaChars: 64 * 1024 }), {
      stuckMs: 500,
    })
    for (let turn = 0; turn < 12; turn++) await thread.send(`Turn ${turn}`)
    for await (const _ of thread.follow({ until: 'idle' }));
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write('GET /plain/one HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await until(() => followers() === 1)
    await until(() => followers() === 0)
  })
})

describe('the list of protocols', () => {
  const echo: Protocol = {
    name: 'echo',
    mount: ({ agents }) => ({
      error: ({ status, message }) => new Response(message.toUpperCase(), { status }),
      routes: [
        {
          method: 'GET',
          path: '/echo/*',
          name: 'echo',
          summary: 'Echo a message',
          responses: { 101: { description: 'Frames' } },
          async connect({ caller, request }) {
            if (request.url.endsWith('/no')) caller.rateLimit()
            return {
              subprotocols: ['echo.v2', 'echo.v1'],
              open(ws) {
                ws.on('message', (data) => ws.send(`${agents[0]} ${data}`))
                const closed = new Promise<void>((resolve) => ws.on('close', () => resolve()))
                return { closed, close: (code, reason) => ws.close(code, reason) }
              },
            }
          },
        },
      ],
    }),
  }

  test('can contain a protocol with WebSockets, which is part of openapi.json', async () => {
    const { app, ask } = served(storyteller(), { protocols: [echo], auth: byToken })
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const ws = new WebSocket(`${url.replace('http', 'ws')}/echo/a/b`, ['echo.v1'], { headers })
    const received = new Promise((resolve) => ws.once('message', (data) => resolve(String(data))))
    ws.on('open', () => ws.send('hi'))
    expect(await received).toBe('storyteller hi')
    expect(ws.protocol).toBe('echo.v1')
    const closed = new Promise((resolve) => ws.once('close', resolve))
    expect(app.signOut('ann')).toBe(1)
    expect(await closed).toBe(1008)
    expect(await rejectedUpgrade(`${url}/echo/a`)).toMatchObject({
      status: 401,
      body: 'AUTHENTICATION REQUIRED: SIGN IN WITH VALID CREDENTIALS',
    })
    expect((await ask('GET', '/echo/a', { as: 'ann' })).status).toBe(426)
    const { paths } = await (await ask('GET', '/openapi.json')).json()
    expect(paths['/echo/*'].get).toMatchObject({ operationId: 'echo', summary: 'Echo a message' })
  })

  test('is checked when the server is created', () => {
    expect(() => served(storyteller(), { protocols: [echo, echo] })).toThrow(/two protocols are named 'echo'/)
    expect(() => served(storyteller(), { protocols: [{}] as never })).toThrow(/protocols.*name and mount/)
  })

  test('is made ready before the server listens, and closed with it', async () => {
    const calls: string[] = []
    const living: Protocol = {
      name: 'living',
      mount: () => ({
        routes: [],
        async ready() {
          calls.push('ready')
        },
        async close() {
          calls.push('close')
        },
      }),
    }
    const { app } = served(storyteller(), { protocols: [living] })
    await app.listen()
    expect(calls).toEqual(['ready'])
    await app.close({ graceMs: 0 })
    await app.close({ graceMs: 0 })
    expect(calls).toEqual(['ready', 'close'])
  })
})
