import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { socketClient, teller } from '../protocols/protocols.test-kit.ts'
import { byToken, refusedUpgrade, served } from './server.test-kit.ts'

const origins = ['https://app.example.org']
const hosts = ['chat.example.org']

/** As a browser or a proxy would send it: with whatever Host it likes. */
function statusOf(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
    request.end()
  })
}

function rawStatus(port: number, headers: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(`GET /healthz HTTP/1.1\r\n${headers}\r\n`)
  return new Promise((resolve) =>
    socket.once('data', (data) => resolve(Number(/^HTTP\/1.1 (\d+)/.exec(String(data))?.[1]))),
  )
}

describe('the host', () => {
  test('is one of loopback, or listed', async () => {
    const { app } = served(teller(), { hosts })
    for (const [host, status] of [
      ['localhost', 200],
      ['localhost:8080', 200],
      ['desk.localhost', 200],
      ['127.0.0.1:3000', 200],
      ['127.8.9.10', 200],
      ['[::1]:80', 200],
      ['chat.example.org', 200],
      ['CHAT.example.org:443', 200],
      ['example.org', 403],
      ['chat.example.org.evil.example', 403],
      ['evil.example', 403],
      ['localhost.evil.example', 403],
      ['127.0.0.1.evil.example', 403],
      ['10.0.0.1', 403],
      ['[::2]', 403],
    ] as const)
      expect((await app.fetch(new Request(`http://${host}/healthz`))).status, host).toBe(status)
  })

  test('is what the client says, not what it connects to, over a real connection', async () => {
    const { app } = served(teller(), { hosts })
    const { url, port } = await app.listen()
    for (const [host, status] of [
      [`127.0.0.1:${port}`, 200],
      ['localhost', 200],
      ['chat.example.org', 200],
      ['evil.example', 403],
      ['evil.example:80', 403],
      ['evil.example#@localhost', 400],
      ['localhost@evil.example', 400],
      ['/', 400],
      ['[::1', 400],
      ['a b', 400],
    ] as const)
      expect(await statusOf(`${url}/healthz`, { host }), host).toBe(status)
    expect(
      await refusedUpgrade(`${url}/threads/x/socket`, { headers: { host: 'evil.example' } }),
    ).toMatchObject({
      status: 403,
    })
  })

  test.each([
    ['two of one name', 'Host: localhost\r\nhost: localhost\r\n'],
    ['a second one', 'Host: localhost\r\nHOST: evil.example\r\n'],
    ['a second one first', 'host: evil.example\r\nhost: localhost\r\n'],
    ['a list', 'host: localhost, evil.example\r\n'],
    ['none', ''],
  ])('stands in a request once, and not as %s', async (_, hosts) => {
    const { app } = served()
    const { port } = await app.listen()
    const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n'
    for (const more of ['', upgrade]) expect(await rawStatus(port, hosts + more)).toBe(400)
    expect(await rawStatus(port, 'host: localhost\r\n')).toBe(200)
  })

  test('a path that looks like a host is a path', async () => {
    const { app } = served()
    const { port } = await app.listen()
    const status = await new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: '//evil.example/healthz', agent: false }
      const request = httpRequest(options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject)
      request.end()
    })
    expect(status).toBe(404)
  })
})

describe('the origin', () => {
  const cases: [origin: string | undefined, welcome: boolean][] = [
    [undefined, true],
    ['http://localhost', true],
    ['https://app.example.org', true],
    ['https://evil.example', false],
    ['http://app.example.org', false],
    ['https://app.example.org.evil.example', false],
    ['https://app.example.org:8443', false],
    ['http://localhost:9999', false],
    ['null', false],
    ['', false],
  ]

  test('of whatever changes something is none, the same, or listed', async () => {
    const { ask, app } = served(teller(), { origins })
    await app.thread('one').create()
    for (const [origin, welcome] of cases) {
      const headers: Record<string, string> = origin === undefined ? {} : { origin }
      const expected = welcome ? 201 : 403
      expect((await ask('POST', '/threads', { body: {}, headers })).status, origin).toBe(expected)
      const stop = await ask('POST', '/threads/one/stop', { headers })
      expect(stop.status, origin).toBe(welcome ? 202 : 403)
      expect((await ask('GET', '/threads', { headers })).status, origin).toBe(200)
    }
    expect(
      (await ask('DELETE', '/threads/one', { headers: { origin: 'https://evil.example' } })).status,
    ).toBe(403)
    expect((await ask('GET', '/threads/one')).status).toBe(200)
  })

  test('of a socket is looked at too, since browsers ask nobody before they open one', async () => {
    const { app } = served(teller(), { origins })
    await app.thread('one').create()
    const { url, port } = await app.listen()
    for (const [origin, welcome] of cases) {
      if (origin === 'http://localhost' || origin === '') continue
      const headers: Record<string, string> = origin === undefined ? {} : { origin }
      if (welcome) await (await socketClient(`${url}/threads/one/socket`, { headers })).frame('ready')
      else
        expect(await refusedUpgrade(`${url}/threads/one/socket`, { headers }), origin).toMatchObject({
          status: 403,
        })
    }
    const same = { headers: { origin: `http://127.0.0.1:${port}` } }
    await (await socketClient(`${url}/threads/one/socket`, same)).frame('ready')
  })

  test('that is listed may read answers, also of what went wrong; no other may', async () => {
    const { ask } = served(teller(), { origins, auth: byToken })
    for (const [path, as] of [
      ['/healthz', undefined],
      ['/threads', 'ann'],
      ['/threads', undefined],
      ['/nothing', 'ann'],
    ] as const) {
      const listed = await ask('GET', path, { headers: { origin: 'https://app.example.org' }, as })
      expect(listed.headers.get('access-control-allow-origin'), path).toBe('https://app.example.org')
      expect(listed.headers.get('vary')).toBe('origin')
      for (const origin of ['https://evil.example', 'http://localhost', 'null'])
        expect(
          (await ask('GET', path, { headers: { origin }, as })).headers.has('access-control-allow-origin'),
          `${path} ${origin}`,
        ).toBe(false)
    }
  })

  test('a browser that asks before it sends is told, and needs no sign-in for that', async () => {
    const { ask } = served(teller(), { origins, auth: byToken })
    const preflight = (origin: string) =>
      ask('OPTIONS', '/threads/one/messages', {
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      })
    const told = await preflight('https://app.example.org')
    expect(told.status).toBe(204)
    expect(told.headers.get('access-control-allow-origin')).toBe('https://app.example.org')
    expect(told.headers.get('access-control-allow-methods')).toContain('POST')
    for (const name of ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'traceparent'])
      expect(told.headers.get('access-control-allow-headers')).toContain(name)
    const refused = await preflight('https://evil.example')
    expect(refused.status).toBe(403)
    expect(refused.headers.has('access-control-allow-origin')).toBe(false)
  })

  test('nobody else is let in by default', async () => {
    const { ask } = served()
    const headers = { origin: 'https://app.example.org' }
    expect((await ask('GET', '/threads', { headers })).headers.has('access-control-allow-origin')).toBe(false)
    expect((await ask('POST', '/threads', { headers })).status).toBe(403)
    expect((await ask('OPTIONS', '/threads', { headers })).status).toBe(403)
  })
})
