import { request as httpRequest } from 'node:http'
import { mcpProtocol } from '@millrace/tools/mcp'
import { describe, expect, test } from 'vitest'
import { socketClient, storyteller, until } from '../protocols/protocols.test-kit.ts'
import type { ServerOptions } from './index.ts'
import { byToken, rejectedUpgrade, served } from './server.test-kit.ts'
import { signIns } from './sign-ins.ts'

interface AskOptions {
  readonly token?: string
  readonly path?: string
  readonly method?: string
  /** The loopback address of the client. */
  readonly from?: string
  readonly headers?: Record<string, string>
}

/** A server that accepts tokens starting with `good`, and the users that `auth` was called for. */
async function serveWithAuth(
  options: ServerOptions = {},
  decide = async (token: string) => token.startsWith('good'),
) {
  const asked: string[] = []
  const { app } = served(storyteller(), {
    limits: { failedSignIns: 3 },
    async auth(request) {
      const user = byToken(request)?.user ?? new URL(request.url).searchParams.get('token') ?? 'anonymous'
      asked.push(user)
      return (await decide(user)) ? { user } : null
    },
    ...options,
  })
  const { url } = await app.listen()
  const ask = ({ token, path = '/threads', method = 'GET', from = '127.0.0.1', headers = {} }: AskOptions) =>
    new Promise<{ status: number; retryAfter: string | undefined; body: string }>((resolve, reject) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const request = httpRequest(`${url}${path}`, {
        method,
        headers: { ...headers, ...authorization },
        localAddress: from,
        agent: false,
      })
      request.on('error', reject)
      request.on('response', (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (data) => {
          body += data
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], body }),
        )
      })
      request.end()
    })
  const statuses = async (...all: AskOptions[]) => {
    const found: number[] = []
    for (const one of all) found.push((await ask(one)).status)
    return found
  }
  return { app, url, asked, ask, statuses }
}

const guesses = (count: number, prefix = 'guess') =>
  Array.from({ length: count }, (_, nth) => ({ token: `${prefix}${nth}` }))

describe('failed sign-ins', () => {
  test('are limited per address, with a retry-after', async () => {
    const { ask, statuses, asked } = await serveWithAuth()
    expect(await statuses(...guesses(5))).toEqual([401, 401, 401, 429, 429])
    const { retryAfter, body } = await ask({ token: 'guess9' })
    expect(retryAfter).toBe('20')
    expect(JSON.parse(body)).toEqual({
      error: { code: 'rate_limit', message: expect.stringContaining('sign-ins'), retryAfterMs: 20_000 },
    })
    expect(asked).toHaveLength(3)
    // New valid credentials are rejected too. Other addresses and public routes are not affected.
    expect(await statuses({ token: 'good1' }, { token: 'good1', from: '127.0.0.2' })).toEqual([429, 200])
    expect(await statuses({ path: '/healthz' })).toEqual([200])
  })

  test('do not lock out a user at the same address who has signed in before', async () => {
    const { app, url, statuses } = await serveWithAuth({ protocols: [mcpProtocol()] })
    const owned = '00000000-0000-4000-8000-000000000001'
    await app.thread(owned, { user: 'good1' }).create()
    const byQuery = { path: '/threads?token=good2' }
    expect(await statuses({ token: 'good1' }, byQuery)).toEqual([200, 200])
    expect(await statuses(...guesses(4))).toEqual([401, 401, 401, 429])
    expect(await statuses({ token: 'good1', path: '/agents' }, byQuery, { token: 'good3' })).toEqual([
      200, 200, 429,
    ])
    const headers = { authorization: 'Bearer good1' }
    await (await socketClient(`${url}/threads/${owned}/socket`, { headers })).frame('ready')
    const protocols = ['millrace.v1', `millrace.bearer.${Buffer.from('good1').toString('base64url')}`]
    await (await socketClient(`${url}/threads/${owned}/socket`, { protocols })).frame('ready')
  })

  test.each([
    ['without any token', () => ({})],
    ['of MCP clients', (nth: number) => ({ token: `guess${nth}`, path: '/mcp', method: 'POST' })],
    ['in the URL', (nth: number) => ({ path: `/threads?token=guess${nth}` })],
    ['with an API key', (nth: number) => ({ headers: { 'x-api-key': `guess${nth}` } })],
    ['in a cookie', (nth: number) => ({ headers: { cookie: `session=guess${nth}` } })],
  ])('%s count too', async (_, request) => {
    const { statuses } = await serveWithAuth({ protocols: [mcpProtocol()] })
    expect(await statuses(...[1, 2, 3, 4].map(request))).toEqual([401, 401, 401, 429])
  })

  test('of WebSockets count too', async () => {
    const { url } = await serveWithAuth()
    const statuses: number[] = []
    for (const { token } of guesses(4)) {
      const headers = { authorization: `Bearer ${token}` }
      statuses.push((await rejectedUpgrade(`${url}/threads/one/socket`, { headers })).status)
    }
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  test('with the same token again do not use up the allowance of others', async () => {
    const { statuses } = await serveWithAuth()
    const old = { token: 'old' }
    expect(await statuses(old, old, old, old, {}, {}, {}, {})).toEqual([
      401, 401, 401, 429, 401, 401, 401, 429,
    ])
    expect(await statuses({ token: 'good1' }, ...guesses(2))).toEqual([200, 401, 429])
  })

  test('are limited just the same when sent concurrently', async () => {
    const { ask, asked } = await serveWithAuth({}, async (token) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return token.startsWith('good')
    })
    const answers = await Promise.all(guesses(30).map(ask))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(27)
    expect(asked).toHaveLength(3)
  })

  test('are not counted for concurrent valid sign-ins, which wait for each other', async () => {
    let max = 0
    let now = 0
    const { app } = await serveWithAuth({}, async () => {
      max = Math.max(max, ++now)
      await new Promise((resolve) => setTimeout(resolve, 2))
      now--
      return true
    })
    // Without sockets, so that all requests arrive before the first timer fires.
    const answers = await Promise.all(
      guesses(20, 'good').map(({ token }) => {
        const headers = { authorization: `Bearer ${token}` }
        return app.fetch(new Request('http://localhost/threads', { headers }), { remoteAddress: '192.0.2.1' })
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(max).toBe(3)
  })

  test('with credentials that used to be valid count too', async () => {
    let isRevoked = false
    const { statuses } = await serveWithAuth({}, async () => !isRevoked)
    expect(await statuses({ token: 'good1' })).toEqual([200])
    isRevoked = true
    const again = { token: 'good1' }
    expect(await statuses(again, again, again, again)).toEqual([401, 401, 401, 429])
  })

  test('do not include failures of auth itself', async () => {
    const { statuses, asked } = await serveWithAuth({ onError: () => {} }, async () => {
      throw new Error('the database is down')
    })
    expect(await statuses(...guesses(5))).toEqual([500, 500, 500, 500, 500])
    expect(asked).toHaveLength(5)
  })

  test('behind a trusted proxy are counted per client', async () => {
    const { statuses } = await serveWithAuth({ trustProxy: ['127.0.0.1'] })
    const by = (client: string, nth: number) => ({
      token: `guess${nth}`,
      headers: { 'x-forwarded-for': `${nth}.9.9.9, ${client}` },
    })
    expect(await statuses(...[1, 2, 3, 4].map((nth) => by('192.0.2.1', nth)))).toEqual([401, 401, 401, 429])
    expect(await statuses(by('192.0.2.2', 5))).toEqual([401])
    // The header does not count if the client bypasses the proxy.
    const past = [6, 7, 8, 9].map((nth) => ({ ...by(`192.0.2.${nth}`, nth), from: '127.0.0.2' }))
    expect(await statuses(...past)).toEqual([401, 401, 401, 429])
  })

  test('are counted in fetch() if the address is passed', async () => {
    const { app } = await serveWithAuth()
    const ask = async (remoteAddress?: string) =>
      (await app.fetch(new Request('http://localhost/threads'), { remoteAddress })).status
    for (let nth = 0; nth < 5; nth++) expect(await ask()).toBe(401)
    for (const host of ['a', 'b', 'c']) expect(await ask(`2001:db8:1:2::${host}`)).toBe(401)
    expect([await ask('2001:db8:1:2::d'), await ask('2001:db8:1:3::d')]).toEqual([429, 401])
  })

  test('are forgotten, oldest first, when there are too many addresses', async () => {
    const { attempt } = signIns({ perMinute: 1 })
    const fail = (nth: number) =>
      attempt(new Request('http://localhost'), `10.${nth}`, async () => undefined).catch(
        ({ status }) => status,
      )
    expect([await fail(0), await fail(0)]).toEqual([undefined, 429])
    // Each failure is remembered twice: for the address and for its credentials.
    for (let nth = 1; nth < 4998; nth++) await fail(nth)
    expect(await fail(0)).toBe(429)
    for (let nth = 5000; nth < 10_001; nth++) await fail(nth)
    expect(await fail(0)).toBe(undefined)
  })

  test('are allowed again after some time', async () => {
    const { ask } = await serveWithAuth({ limits: { failedSignIns: 120 } })
    const answers = await Promise.all(guesses(240).map(ask))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    await until(async () => (await ask({ token: 'another' })).status === 401)
  })
})
