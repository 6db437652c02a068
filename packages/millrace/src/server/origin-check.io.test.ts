import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { socketClient, storyteller } from '../protocols/protocols.test-kit.ts'
import { byToken, rejectedUpgrade, served } from './server.test-kit.ts'

const origins = ['https://app.example.org']
const hosts = ['chat.example.org']

/** The headers that the SDKs of providers send, except those that a browser always allows. */
async function headersOfSdks(): Promise<string[]> {
  const sent = new Set<string>()
  const fetch = async (_: unknown, { headers }: RequestInit = {}) => {
    for (const [name] of new Headers(headers)) sent.add(name)
    return Response.json({}, { status: 500 })
  }
  const options = { apiKey: 'key', fetch: fetch as typeof globalThis.fetch, dangerouslyAllowBrowser: true }
  const more = { maxRetries: 0, timeout: 1000, defaultHeaders: { 'x-thread-id': 'one' } }
  const openai = new OpenAI({ ...options, ...more, organization: 'org', project: 'project' })
  const anthropic = new Anthropic({ ...options, ...more })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  await Promise.allSettled([
    openai.chat.completions.create({ model: 'm', messages }),
    openai.chat.completions.stream({ model: 'm', messages }).done(),
    openai.responses.stream({ model: 'm', input: 'Hi' }).done(),
    anthropic.messages.create({ model: 'm', max_tokens: 1, messages }),
    anthropic.messages.stream({ model: 'm', max_tokens: 1, messages }).done(),
    anthropic.beta.messages.create({ model: 'm', max_tokens: 1, messages, betas: ['b'] }),
  ])
  sent.delete('accept')
  return [...sent]
}

/** Sends a request with any host, as a browser or a proxy could. */
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
  test('must be loopback, or listed', async () => {
    const { app } = served(storyteller(), { hosts })
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

  test('is the one in the header, not the address of the connection', async () => {
    const { app } = served(storyteller(), { hosts })
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
      await rejectedUpgrade(`${url}/threads/x/socket`, { headers: { host: 'evil.example' } }),
    ).toMatchObject({
      status: 403,
    })
  })

  test.each([
    ['the same one twice', 'Host: localhost\r\nhost: localhost\r\n'],
    ['two different ones', 'Host: localhost\r\nHOST: evil.example\r\n'],
    ['two different ones in another order', 'host: evil.example\r\nhost: localhost\r\n'],
    ['a list', 'host: localhost, evil.example\r\n'],
    ['none', ''],
  ])('must occur exactly once, not as %s', async (_, hosts) => {
    const { app } = served()
    const { port } = await app.listen()
    const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n'
    for (const more of ['', upgrade]) expect(await rawStatus(port, hosts + more)).toBe(400)
    expect(await rawStatus(port, 'host: localhost\r\n')).toBe(200)
  })

  test('is never taken from the path', async () => {
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
  const cases: [origin: string | undefined, isAllowed: boolean][] = [
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

  test('of a request that changes something must be absent, the same, or listed', async () => {
    const { ask, app } = served(storyteller(), { origins })
    await app.thread('one').create()
    for (const [origin, isAllowed] of cases) {
      const headers: Record<string, string> = origin === undefined ? {} : { origin }
      const expected = isAllowed ? 201 : 403
      expect((await ask('POST', '/threads', { body: {}, headers })).status, origin).toBe(expected)
      const stop = await ask('POST', '/threads/one/stop', { headers })
      expect(stop.status, origin).toBe(isAllowed ? 202 : 403)
      expect((await ask('GET', '/threads', { headers })).status, origin).toBe(200)
    }
    expect(
      (await ask('DELETE', '/threads/one', { headers: { origin: 'https://evil.example' } })).status,
    ).toBe(403)
    expect((await ask('GET', '/threads/one')).status).toBe(200)
  })

  test('of a WebSocket is checked too, since browsers send no preflight for it', async () => {
    const { app } = served(storyteller(), { origins })
    await app.thread('one').create()
    const { url, port } = await app.listen()
    for (const [origin, isAllowed] of cases) {
      if (origin === 'http://localhost' || origin === '') continue
      const headers: Record<string, string> = origin === undefined ? {} : { origin }
      if (isAllowed) await (await socketClient(`${url}/threads/one/socket`, { headers })).frame('ready')
      else
        expect(await rejectedUpgrade(`${url}/threads/one/socket`, { headers }), origin).toMatchObject({
          status: 403,
        })
    }
    const same = { headers: { origin: `http://127.0.0.1:${port}` } }
    await (await socketClient(`${url}/threads/one/socket`, same)).frame('ready')
  })

  test('must be listed to read responses, including errors', async () => {
    const { ask } = served(storyteller(), { origins, auth: byToken })
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

  test('is checked by a preflight request, which needs no sign-in', async () => {
    const { ask } = served(storyteller(), { origins, auth: byToken })
    const preflight = (origin: string) =>
      ask('OPTIONS', '/threads/one/messages', {
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      })
    const allowed = await preflight('https://app.example.org')
    expect(allowed.status).toBe(204)
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.org')
    const methods = allowed.headers.get('access-control-allow-methods')?.split(', ')
    const { paths } = await (
      await ask('GET', '/openapi.json', { headers: { origin: origins[0] as string } })
    ).json()
    const used = Object.values(paths as object).flatMap((path) => Object.keys(path))
    expect(used).toContain('patch')
    for (const method of used) expect(methods).toContain(method.toUpperCase())
    const names = allowed.headers.get('access-control-allow-headers')?.split(', ')
    for (const name of ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'traceparent'])
      expect(names).toContain(name)
    const sent = await headersOfSdks()
    expect(sent).toEqual(expect.arrayContaining(['openai-project', 'anthropic-version', 'x-stainless-lang']))
    // `@anthropic-ai/sdk` 1.8 sends its key as a bearer token; other clients of that API do not.
    for (const name of [...sent, 'x-api-key']) expect(names).toContain(name)
    const exposed = allowed.headers.get('access-control-expose-headers')?.split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['x-thread-id', 'x-request-id', 'request-id']))
    const rejected = await preflight('https://evil.example')
    expect(rejected.status).toBe(403)
    expect(rejected.headers.has('access-control-allow-origin')).toBe(false)
  })

  test('of other sites is rejected by default', async () => {
    const { ask } = served()
    const headers = { origin: 'https://app.example.org' }
    expect((await ask('GET', '/threads', { headers })).headers.has('access-control-allow-origin')).toBe(false)
    expect((await ask('POST', '/threads', { headers })).status).toBe(403)
    expect((await ask('OPTIONS', '/threads', { headers })).status).toBe(403)
  })
})
