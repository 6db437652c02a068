import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { Entry } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import { asker, entriesOf, socketClient, until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Identity } from './index.ts'
import { byToken, rejectedUpgrade, served } from './server.test-kit.ts'

const owned = '00000000-0000-4000-8000-000000000001'
const absent = '00000000-0000-4000-8000-000000000009'

/** All requests about one thread. */
const requests = (id: string): [method: string, path: string, body?: object][] => [
  ['GET', `/threads/${id}`],
  ['DELETE', `/threads/${id}`],
  ['POST', `/threads/${id}/messages`, { message: 'Hi' }],
  ['POST', `/threads/${id}/stop`, {}],
  ['POST', `/threads/${id}/approvals/call_1`, { approved: true }],
  ['POST', `/threads/${id}/fork`, { at: 0 }],
  ['GET', `/threads/${id}/events`],
  ['GET', `/threads/${id}/events?after=0&until=idle`],
]

async function withThread(auth: (request: Request) => Identity | null = byToken) {
  const errors: MillraceError[] = []
  const given = served(asker(), { auth, onError: (error) => errors.push(error) })
  const made = await given.ask('POST', '/threads', { body: { id: owned }, as: 'ann' })
  expect(made.status).toBe(201)
  expect(await made.json()).toMatchObject({ user: 'ann' })
  return { ...given, errors }
}

describe('with auth', () => {
  test('requests without credentials are rejected', async () => {
    const { ask } = await withThread()
    const all = [
      ...requests(owned),
      ...requests(absent),
      ['GET', '/threads'],
      ['GET', '/agents'],
      ['GET', '/voice'],
      ['POST', '/threads', {}],
    ] as const
    for (const [method, path, body] of all) {
      const response = await ask(method, path, { body })
      expect([response.status, response.headers.get('www-authenticate')], `${method} ${path}`).toEqual([
        401,
        'Bearer',
      ])
      expect(await response.json()).toMatchObject({ error: { code: 'auth' } })
    }
    expect((await ask('GET', '/healthz')).status).toBe(200)
    expect((await ask('GET', '/openapi.json')).status).toBe(200)
  })

  test("another user's thread looks like one that does not exist", async () => {
    const given = await withThread()
    const { ask } = given
    for (const [index, [method, path, body]] of requests(owned).entries()) {
      const [, otherPath] = requests(absent)[index] as [string, string]
      const theirs = await ask(method, path, { body, as: 'bob' })
      const none = await ask(method, otherPath, { body, as: 'bob' })
      expect(theirs.status, `${method} ${path}`).toBe(404)
      expect([none.status, await none.text(), [...none.headers]]).toEqual([
        404,
        await theirs.text(),
        [...theirs.headers],
      ])
    }
    expect(given.followers()).toBe(0)
    // None of the requests had an effect.
    expect(await (await ask('GET', `/threads/${owned}`, { as: 'ann' })).json()).toMatchObject({ head: 0 })
  })

  test('users see and create only their own threads', async () => {
    const { ask } = await withThread()
    await ask('POST', '/threads', { as: 'bob' })
    const seen = async (as: string) =>
      (await (await ask('GET', '/threads', { as })).json()).threads.map(({ user }: { user: string }) => user)
    expect(await seen('ann')).toEqual(['ann'])
    expect(await seen('bob')).toEqual(['bob'])
    expect(await seen('eve')).toEqual([])
    const fork = await ask('POST', `/threads/${owned}/fork`, { body: { at: 0 }, as: 'ann' })
    expect(await fork.json()).toMatchObject({ user: 'ann' })
  })

  test('a chosen id must be unguessable', async () => {
    const { ask } = await withThread()
    for (const id of ['diary', 'ann-1', '1234567890123456789012345678901234567890']) {
      const response = await ask('POST', '/threads', { body: { id }, as: 'bob' })
      expect(response.status).toBe(400)
      expect((await response.json()).error.message).toContain('UUID')
      expect((await ask('POST', `/threads/${owned}/fork`, { body: { at: 0, id }, as: 'ann' })).status).toBe(
        400,
      )
    }
    // A taken id is rejected with the same message for every user.
    const mine = await ask('POST', '/threads', { body: { id: owned }, as: 'ann' })
    const theirs = await ask('POST', '/threads', { body: { id: owned }, as: 'bob' })
    expect([mine.status, theirs.status]).toEqual([409, 409])
    expect(await theirs.text()).toBe(await mine.text())
    // Also if both requests are sent at the same time.
    const both = await Promise.all(
      ['ann', 'bob'].map((as) => ask('POST', '/threads', { body: { id: absent }, as })),
    )
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    const own = await ask('POST', '/threads', { as: 'bob' })
    const fork = await ask('POST', `/threads/${(await own.json()).id}/fork`, {
      body: { at: 0, id: owned },
      as: 'bob',
    })
    expect(fork.status).toBe(409)
  })

  test('canSee can show a user more threads, or fewer', async () => {
    const auth = (request: Request): Identity | null => {
      const known = byToken(request)
      if (known?.user === 'root') return { user: 'root', canSee: () => true }
      if (known?.user === 'team')
        return { user: 'team', canSee: async ({ metadata }) => metadata?.shared === true }
      return known
    }
    const { ask } = await withThread(auth)
    for (let index = 0; index < 5; index++)
      await ask('POST', '/threads', {
        body: { metadata: { shared: index % 2 === 0, index, topic: `topic-${index}` } },
        as: 'bob',
      })
    const list = async (as: string, query = '') => (await ask('GET', `/threads${query}`, { as })).json()
    expect((await list('root')).threads).toHaveLength(6)
    expect((await list('team')).threads).toHaveLength(3)
    expect((await ask('GET', `/threads/${owned}`, { as: 'root' })).status).toBe(200)
    expect((await ask('GET', `/threads/${owned}`, { as: 'team' })).status).toBe(404)
    // Pages are filled with visible threads, each exactly once.
    const seen: number[] = []
    let next: string | undefined
    do {
      const page = await list('team', `?limit=2${next ? `&cursor=${encodeURIComponent(next)}` : ''}`)
      seen.push(...page.threads.map(({ metadata }: { metadata: { index: number } }) => metadata.index))
      next = page.next
    } while (next)
    expect(seen.sort()).toEqual([0, 2, 4])
    expect((await list('team', '?search=TOPIC-2')).threads).toMatchObject([{ metadata: { index: 2 } }])
    expect((await list('team', '?search=topic-3')).threads).toEqual([])
    expect((await list('root', '?search=topic-3')).threads).toMatchObject([{ metadata: { index: 3 } }])
    expect((await list('ann', '?search=topic-3')).threads).toEqual([])
  })

  test('if a hook fails, the request fails without details', async () => {
    const throwing = () => {
      throw new Error('password=hunter2')
    }
    for (const [auth, says] of [
      [throwing, 'hunter2'],
      [async () => throwing(), 'hunter2'],
      [() => ({ user: '' }), 'user'],
      [() => ({}) as never, 'user'],
      [() => true as never, 'user'],
      [() => ({ user: 'ann', canSee: throwing }), 'hunter2'],
    ] as const) {
      const errors: MillraceError[] = []
      const { ask, app } = served(asker(), { auth, onError: (error) => errors.push(error) })
      await app.thread('one', { user: 'ann' }).create()
      const response = await ask('GET', '/threads/one')
      const text = await response.text()
      expect(response.status).toBe(500)
      expect(text).not.toContain('hunter2')
      const { code, id } = JSON.parse(text).error
      expect(code).toBe('internal')
      expect(errors).toHaveLength(1)
      expect(errors[0]?.code).toBe('hook_failed')
      expect(errors[0]?.message).toContain(says)
      expect(errors[0]?.message).toContain(id)
    }
  })

  test('auth gets no body, so that the route can still read it', async () => {
    const { ask } = served(asker(), {
      async auth(request) {
        expect(await request.text()).toBe('')
        return byToken(request)
      },
    })
    const made = await ask('POST', '/threads', { body: { metadata: { a: 1 } }, as: 'ann' })
    expect(await made.json()).toMatchObject({ metadata: { a: 1 } })
  })

  test('users only see the code of an internal error; without auth it is shown in full', async () => {
    const secret = 'postgres://user:pw@db.internal'
    const model = scriptedModel(() => {
      throw new MillraceError({ op: 'model.stream', code: 'llm_error', message: secret, cause: secret })
    })
    for (const auth of [byToken, undefined]) {
      const { ask } = served(agent({ model }), { ...(auth && { auth }) })
      const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
      const events = await ask('POST', `/threads/${id}/messages`, {
        as: 'ann',
        body: { message: 'x' },
        headers: { accept: 'text/event-stream' },
      })
      const entries: Entry[] = await entriesOf(events.body)
      expect(entries.at(-1)?.event).toMatchObject({ type: 'run-end', error: { code: 'llm_error' } })
      const view = await (await ask('GET', `/threads/${id}`, { as: 'ann' })).text()
      const page = await ask('GET', `/threads/${id}/events`, {
        as: 'ann',
        headers: { accept: 'application/json' },
      })
      const shown = JSON.stringify(entries) + view + (await page.text())
      expect(shown.includes(secret)).toBe(auth === undefined)
    }
  })
})

describe('with auth, over a WebSocket', () => {
  test('anonymous callers and other users are rejected before the upgrade', async () => {
    const given = await withThread()
    const { url, port } = await given.app.listen()
    const as = (user: string) => ({ headers: { authorization: `Bearer ${user}` } })
    const socket = (id: string) => `${url}/threads/${id}/socket?after=0`
    expect(await rejectedUpgrade(socket(owned))).toMatchObject({ status: 401 })
    const theirs = await rejectedUpgrade(socket(owned), as('bob'))
    const none = await rejectedUpgrade(socket(absent), as('bob'))
    expect(theirs.status).toBe(404)
    expect(none).toEqual(theirs)
    expect(await rejectedUpgrade(`${url}/threads/%2e%2e/socket`, as('bob'))).toMatchObject({ status: 404 })
    expect(await rejectedUpgrade(`${url}/elsewhere`, as('ann'))).toMatchObject({ status: 404 })
    expect(await rejectedUpgrade(`${url}/threads/${owned}/socket?after=7`, as('ann'))).toMatchObject({
      status: 400,
    })
    expect(given.followers()).toBe(0)
    // Also for a client that does not close its side.
    const lingering = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    lingering.write(
      `GET /threads/${owned}/socket HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    )
    lingering.on('error', () => {})
    lingering.resume()
    await new Promise((resolve) => lingering.once('end', resolve))
    await until(() => {
      lingering.write('x')
      return lingering.destroyed
    })
    const client = await socketClient(socket(owned), as('ann'))
    expect(await client.frame('ready')).toEqual({ type: 'ready', head: 0 })
  })

  test('a token can be sent as a subprotocol, and is not echoed', async () => {
    const { app } = await withThread()
    const { url } = await app.listen()
    const token = (user: string) => `millrace.bearer.${Buffer.from(user).toString('base64url')}`
    const protocols = ['millrace.v1', token('ann')]
    const client = await socketClient(`${url}/threads/${owned}/socket`, { protocols })
    expect(client.ws.protocol).toBe('millrace.v1')
    await client.frame('ready')
    const wrong = await rejectedUpgrade(`${url}/threads/${owned}/socket`, {
      protocols: ['millrace.v1', token('bob')],
    })
    expect(wrong.status).toBe(404)
  })

  test('a user who may no longer see the thread is disconnected at the next command', async () => {
    let isOut = false
    const auth = (request: Request) => {
      const known = byToken(request)
      return known && { ...known, canSee: () => !isOut }
    }
    const { app } = await withThread(auth)
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const client = await socketClient(`${url}/threads/${owned}/socket`, { headers })
    client.send({ type: 'send', id: 1, message: 'Cut it.' })
    expect(await client.frame('ack')).toMatchObject({ id: 1, seq: 1 })
    isOut = true
    client.send({ type: 'stop' })
    expect(await client.closed).toMatchObject({ code: 1008 })
  })

  test('rejected and closed sockets leave nothing behind', async () => {
    const given = await withThread()
    const { url } = await given.app.listen()
    const headers = { authorization: 'Bearer ann' }
    const clients = await Promise.all(
      Array.from({ length: 5 }, () => socketClient(`${url}/threads/${owned}/socket?after=0`, { headers })),
    )
    await until(() => given.followers() === 5)
    for (const { ws } of clients) ws.terminate()
    await until(() => given.followers() === 0)
  })
})
