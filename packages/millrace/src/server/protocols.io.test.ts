import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { agent } from '../agent/index.ts'
import { muser, story, teller, until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Protocol, ServerOptions } from './index.ts'
import { plainText } from './plain-text.test-kit.ts'
import { byToken, refusedUpgrade, served } from './server.test-kit.ts'

async function plainly(agents = teller(), options: ServerOptions = {}) {
  const given = served(agents, { protocols: [plainText()], ...options })
  const { url, port } = await given.app.listen()
  const user = options.auth ? { user: 'ann' } : {}
  const thread = given.app.thread('one', user)
  await thread.create()
  return { ...given, url: `${url}/plain/one`, port, thread }
}

const say = (url: string, body = 'Tell me.', headers = {}) => fetch(url, { method: 'POST', body, headers })

describe('a protocol from outside', () => {
  test('streams text as it is generated, over Node and without a port', async () => {
    const { url, app, followers } = await plainly(teller(story, { paceMs: 2 }))
    const response = await say(url)
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    const chunks = await Array.fromAsync(response.body as ReadableStream<Uint8Array>)
    expect(Buffer.concat(chunks).toString()).toBe(story)
    expect(chunks.length).toBeGreaterThan(3)
    const request = new Request('http://localhost/plain/one', { method: 'POST', body: 'Again.' })
    expect(await (await app.fetch(request)).text()).toBe(story)
    await until(() => followers() === 0)
  })

  test('resumes at the exact place when it is cut off again and again', async () => {
    const whole = 'Räder 🌊 '.repeat(300)
    const { url, thread, followers } = await plainly(teller(whole, { paceMs: 1 }))
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

  test('gives every error in its own shape, also those of the server itself', async () => {
    const { url, app } = await plainly(teller(), {
      auth: byToken,
      limits: { requestsPerSecond: 5, streams: 1 },
    })
    const as = (user: string) => ({ authorization: `Bearer ${user}` })
    const told = async (response: Response) => [response.status, await response.text()]
    expect(await told(await fetch(url))).toEqual([401, 'auth: this needs a valid sign-in\n'])
    expect((await fetch(url)).headers.get('www-authenticate')).toBe('Bearer')
    const bob = { headers: as('bob') }
    expect(await told(await fetch(url, bob))).toEqual([404, 'not_found: there is no such thread\n'])
    const there = url.replace('/one', '')
    expect(await told(await fetch(`${there}/one/two`, bob))).toEqual([
      404,
      'not_found: there is nothing at this address\n',
    ])
    const put = await fetch(url, { method: 'PUT', ...bob })
    expect(put.headers.get('allow')).toBe('GET, POST')
    expect(await told(put)).toEqual([405, 'invalid_input: this address takes GET, POST\n'])
    expect(await told(await say(url, 'x'.repeat(1001), as('ann')))).toEqual([
      413,
      'invalid_input: the body is larger than 1000 bytes\n',
    ])
    expect(await told(await fetch(`${url}?after=x`, { headers: as('ann') }))).toEqual([
      400,
      'invalid_input: after must be a number of characters\n',
    ])
    let refused = await fetch(url, bob)
    while (refused.status === 404) refused = await fetch(url, bob)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await told(refused)).toEqual([429, 'rate_limit: too many requests: wait a little\n'])
    const foreign = new Request('http://evil.example/plain/one')
    expect(await told(await app.fetch(foreign))).toEqual([403, expect.stringMatching(/^auth: this server/)])
    // Elsewhere it is ours as before.
    expect(await (await fetch(url.replace('plain', 'threads'))).json()).toMatchObject({
      error: { code: 'auth' },
    })
    await app.close({ graceMs: 0 })
    const late = await app.fetch(new Request('http://localhost/plain/one'))
    expect(await told(late)).toEqual([503, 'overloaded: this server is going away: try again\n'])
  })

  test('an owner reads what went wrong, others only that it did', async () => {
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

  test('a stream that is refused has said nothing, and a request that fails keeps no place', async () => {
    const { url, thread } = await plainly(muser(), { limits: { streams: 1 } })
    const open = await fetch(url.replace('plain', 'threads').concat('/events'))
    expect((await say(url)).status).toBe(429)
    expect((await thread.info()).head).toBe(0)
    await open.body?.cancel()
    // Refused for its message, after the place was taken.
    for (let turn = 0; turn < 3; turn++) {
      const { status } = await say(url, '')
      expect([400, 429]).toContain(status)
    }
    await until(async () => (await say(url, '')).status === 400)
  })

  test('a stream whose request fails after all is not followed for', async () => {
    const failing: Protocol = {
      name: 'failing',
      mount: () => ({
        routes: [
          {
            method: 'GET',
            path: '/failing/:id',
            async handle(call) {
              const { thread } = await call.caller.getThread(call.params.id as string)
              call.openStream().follow(thread, {}, { headers: {}, entry: () => undefined })
              throw new Error('on second thoughts')
            },
          },
        ],
      }),
    }
    const { url, app, followers } = await plainly(teller(), {
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

  test('streams end with their access, and say so in words of the protocol', async () => {
    const { url, app, thread } = await plainly(muser(), { auth: byToken })
    await thread.send('Think.')
    const response = await fetch(url, { headers: { authorization: 'Bearer ann' } })
    const text = response.text()
    await until(() => app.signOut('ann') > 0)
    expect(await text).toMatch(/\[auth\]\n$/)
  })

  test('a client that does not read is dropped', async () => {
    const flood = 'x'.repeat(1024 * 1024)
    const { thread, port, followers } = await plainly(teller(flood, { deltaChars: 64 * 1024 }), {
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
          summary: 'Says it again',
          answers: { 101: { description: 'Frames' } },
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

  test('a protocol may own sockets, and is part of openapi.json if it says so', async () => {
    const { app, ask } = served(teller(), { protocols: [echo], auth: byToken })
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const ws = new WebSocket(`${url.replace('http', 'ws')}/echo/a/b`, ['echo.v1'], { headers })
    const heard = new Promise((resolve) => ws.once('message', (data) => resolve(String(data))))
    ws.on('open', () => ws.send('hi'))
    expect(await heard).toBe('teller hi')
    expect(ws.protocol).toBe('echo.v1')
    const closed = new Promise((resolve) => ws.once('close', resolve))
    expect(app.signOut('ann')).toBe(1)
    expect(await closed).toBe(1008)
    expect(await refusedUpgrade(`${url}/echo/a`)).toMatchObject({
      status: 401,
      body: 'THIS NEEDS A VALID SIGN-IN',
    })
    expect((await ask('GET', '/echo/a', { as: 'ann' })).status).toBe(426)
    const { paths } = await (await ask('GET', '/openapi.json')).json()
    expect(paths['/echo/*'].get).toMatchObject({ operationId: 'echo', summary: 'Says it again' })
  })

  test('is looked at when the server is made', () => {
    expect(() => served(teller(), { protocols: [echo, echo] })).toThrow(/two of the name 'echo'/)
    expect(() => served(teller(), { protocols: [{}] as never })).toThrow(/protocols.*name and mount/)
  })

  test('each is made ready before the server listens, and closed with it', async () => {
    const told: string[] = []
    const living: Protocol = {
      name: 'living',
      mount: () => ({
        routes: [],
        async ready() {
          told.push('ready')
        },
        async close() {
          told.push('close')
        },
      }),
    }
    const { app } = served(teller(), { protocols: [living] })
    await app.listen()
    expect(told).toEqual(['ready'])
    await app.close({ graceMs: 0 })
    await app.close({ graceMs: 0 })
    expect(told).toEqual(['ready', 'close'])
  })
})
