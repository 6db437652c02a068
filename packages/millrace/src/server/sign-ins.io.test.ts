import { request as httpRequest } from 'node:http'
import { mcpProtocol } from '@millrace/tools/mcp'
import { describe, expect, test } from 'vitest'
import { socketClient, teller, until } from '../protocols/protocols.test-kit.ts'
import type { ServerOptions } from './index.ts'
import { byToken, refusedUpgrade, served } from './server.test-kit.ts'
import { signIns } from './sign-ins.ts'

interface AskOptions {
  readonly token?: string
  readonly path?: string
  readonly method?: string
  /** Another address of loopback to come from. */
  readonly from?: string
  readonly headers?: Record<string, string>
}

/** A server that knows tokens that begin with `good`, and what it has asked `auth`. */
async function guarded(
  options: ServerOptions = {},
  decide = async (token: string) => token.startsWith('good'),
) {
  const asked: string[] = []
  const { app } = served(teller(), {
    limits: { failedSignIns: 3 },
    async auth(request) {
      const user = byToken(request)?.user ?? new URL(request.url).searchParams.get('token') ?? 'nobody'
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

describe('sign-ins that fail', () => {
  test('are limited by address, and the client is told when to come back', async () => {
    const { ask, statuses, asked } = await guarded()
    expect(await statuses(...guesses(5))).toEqual([401, 401, 401, 429, 429])
    const { retryAfter, body } = await ask({ token: 'guess9' })
    expect(retryAfter).toBe('20')
    expect(JSON.parse(body)).toEqual({
      error: { code: 'rate_limit', message: expect.stringContaining('sign-ins'), retryAfterMs: 20_000 },
    })
    expect(asked).toHaveLength(3)
    // Nor is a right one tried now, if nothing shows that it is; but elsewhere, and what needs no sign-in, is as before.
    expect(await statuses({ token: 'good1' }, { token: 'good1', from: '127.0.0.2' })).toEqual([429, 200])
    expect(await statuses({ path: '/healthz' })).toEqual([200])
  })

  test('do not lock out a neighbor who was signed in before', async () => {
    const { app, url, statuses } = await guarded({ protocols: [mcpProtocol()] })
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
    ['in the address', (nth: number) => ({ path: `/threads?token=guess${nth}` })],
    ['in a cookie', (nth: number) => ({ headers: { cookie: `session=guess${nth}` } })],
  ])('%s count as well', async (_, request) => {
    const { statuses } = await guarded({ protocols: [mcpProtocol()] })
    expect(await statuses(...[1, 2, 3, 4].map(request))).toEqual([401, 401, 401, 429])
  })

  test('of sockets count as well', async () => {
    const { url } = await guarded()
    const statuses: number[] = []
    for (const { token } of guesses(4)) {
      const headers = { authorization: `Bearer ${token}` }
      statuses.push((await refusedUpgrade(`${url}/threads/one/socket`, { headers })).status)
    }
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  test('again and again with the same token do not use up what others may fail', async () => {
    const { statuses } = await guarded()
    const old = { token: 'old' }
    expect(await statuses(old, old, old, old, {}, {}, {}, {})).toEqual([
      401, 401, 401, 429, 401, 401, 401, 429,
    ])
    expect(await statuses({ token: 'good1' }, ...guesses(2))).toEqual([200, 401, 429])
  })

  test('many at once are not more than one after the other', async () => {
    const { ask, asked } = await guarded({}, async (token) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return token.startsWith('good')
    })
    const answers = await Promise.all(guesses(30).map(ask))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(27)
    expect(asked).toHaveLength(3)
  })

  test('many that succeed at once wait for one another, and all get in', async () => {
    let most = 0
    let now = 0
    const { app } = await guarded({}, async () => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setTimeout(resolve, 2))
      now--
      return true
    })
    // Without sockets in between, so that all of them arrive before the first timer fires.
    const answers = await Promise.all(
      guesses(20, 'good').map(({ token }) => {
        const headers = { authorization: `Bearer ${token}` }
        return app.fetch(new Request('http://localhost/threads', { headers }), { remoteAddress: '192.0.2.1' })
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(most).toBe(3)
  })

  test('with what was good until now count, and then it is a guess like any other', async () => {
    let isRevoked = false
    const { statuses } = await guarded({}, async () => !isRevoked)
    expect(await statuses({ token: 'good1' })).toEqual([200])
    isRevoked = true
    const again = { token: 'good1' }
    expect(await statuses(again, again, again, again)).toEqual([401, 401, 401, 429])
  })

  test('are not those where auth itself failed', async () => {
    const { statuses, asked } = await guarded({ onError: () => {} }, async () => {
      throw new Error('the database is down')
    })
    expect(await statuses(...guesses(5))).toEqual([500, 500, 500, 500, 500])
    expect(asked).toHaveLength(5)
  })

  test('are counted for the client behind a proxy that is trusted', async () => {
    const { statuses } = await guarded({ trustProxy: ['127.0.0.1'] })
    const by = (client: string, nth: number) => ({
      token: `guess${nth}`,
      headers: { 'x-forwarded-for': `${nth}.9.9.9, ${client}` },
    })
    expect(await statuses(...[1, 2, 3, 4].map((nth) => by('192.0.2.1', nth)))).toEqual([401, 401, 401, 429])
    expect(await statuses(by('192.0.2.2', 5))).toEqual([401])
    // The header of a client that comes past the proxy is a claim.
    const past = [6, 7, 8, 9].map((nth) => ({ ...by(`192.0.2.${nth}`, nth), from: '127.0.0.2' }))
    expect(await statuses(...past)).toEqual([401, 401, 401, 429])
  })

  test('are counted without a port where the address is given', async () => {
    const { app } = await guarded()
    const ask = async (remoteAddress?: string) =>
      (await app.fetch(new Request('http://localhost/threads'), { remoteAddress })).status
    for (let nth = 0; nth < 5; nth++) expect(await ask()).toBe(401)
    for (const host of ['a', 'b', 'c']) expect(await ask(`2001:db8:1:2::${host}`)).toBe(401)
    expect([await ask('2001:db8:1:2::d'), await ask('2001:db8:1:3::d')]).toEqual([429, 401])
  })

  test('are forgotten from very many addresses, the oldest first, so that memory is bounded', async () => {
    const { attempt } = signIns({ perMinute: 1 })
    const fail = (nth: number) =>
      attempt(new Request('http://localhost'), `10.${nth}`, async () => undefined).catch(
        ({ status }) => status,
      )
    expect([await fail(0), await fail(0)]).toEqual([undefined, 429])
    // Two each: the address, and what it has shown.
    for (let nth = 1; nth < 4998; nth++) await fail(nth)
    expect(await fail(0)).toBe(429)
    for (let nth = 5000; nth < 10_001; nth++) await fail(nth)
    expect(await fail(0)).toBe(undefined)
  })

  test('are allowed again as time goes by', async () => {
    const { ask } = await guarded({ limits: { failedSignIns: 120 } })
    const answers = await Promise.all(guesses(240).map(ask))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    await until(async () => (await ask({ token: 'another' })).status === 401)
  })
})
