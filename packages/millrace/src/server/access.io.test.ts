import { mcpProtocol } from '@millrace/tools/mcp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectStateless } from '../../../tools/src/mcp-server/mcp-clients.test-kit.ts'
import { client } from '../client/index.ts'
import type { ThreadInfo } from '../protocol/index.ts'
import { muser, socketClient, storyteller, until } from '../protocols/protocols.test-kit.ts'
import { openAccess } from './access.ts'
import { byToken, served } from './server.test-kit.ts'

const owned = '00000000-0000-4000-8000-000000000001'

/** A server whose users can lose access, with a thread of ann's. */
async function withUsers(recheckMs = 20) {
  const revoked = new Set<string>()
  const state = { isBroken: false, isHidden: false, asked: 0, renamed: '' }
  const given = served(muser(), {
    protocols: [mcpProtocol()],
    recheckMs,
    limits: { failedSignIns: 100 },
    onError: () => {},
    auth(request) {
      state.asked++
      if (state.isBroken) throw new Error('the database is down')
      const known = byToken(request)
      if (!known || revoked.has(known.user)) return null
      return {
        user: known.user + state.renamed,
        canSee: ({ user }: ThreadInfo) => !state.isHidden && user === 'ann',
      }
    },
  })
  await given.app.thread(owned, { user: 'ann' }).create()
  const { url } = await given.app.listen()
  const headersOf = (user: string) => ({ authorization: `Bearer ${user}` })
  const events = (user: string) =>
    fetch(`${url}/threads/${owned}/events`, { headers: headersOf(user) }).then(({ body }) => bodyOf(body))
  const socket = (user: string) =>
    socketClient(`${url}/threads/${owned}/socket?after=0`, { headers: headersOf(user) })
  return { ...given, url, revoked, state, events, socket, headersOf }
}

/** The text of a body as it arrives, and when it has ended. */
function bodyOf(body: ReadableStream<Uint8Array> | null) {
  const read = { text: '', hasEnded: false }
  const ended = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of body ?? []) read.text += decoder.decode(chunk, { stream: true })
    read.hasEnded = true
  })()
  ended.catch(() => {})
  return { read, ended }
}

describe('an open stream', () => {
  test('ends when its sign-in is no longer valid', async () => {
    const { revoked, events, socket, followers, ask } = await withUsers()
    const [anns, bobs] = [await events('ann'), await events('bob')]
    const sockets = [await socket('ann'), await socket('bob')] as const
    revoked.add('ann')
    await anns.ended
    // Without an `end` event, the client reconnects and is rejected.
    expect(anns.read.text).not.toContain('event: end')
    expect(await sockets[0].closed).toMatchObject({ code: 1008 })
    await until(() => followers() === 2)
    expect([bobs.read.hasEnded, sockets[1].ws.readyState]).toEqual([false, sockets[1].ws.OPEN])
    expect((await ask('GET', `/threads/${owned}`, { as: 'ann' })).status).toBe(401)
  })

  test('ends when its user may no longer see the thread', async () => {
    const { state, events, socket } = await withUsers()
    const [stream, line] = [await events('bob'), await socket('bob')]
    state.isHidden = true
    await stream.ended
    expect(await line.closed).toMatchObject({ code: 1008 })
  })

  test('ends when its token now belongs to another user', async () => {
    const { state, events } = await withUsers()
    const stream = await events('ann')
    state.renamed = '2'
    await stream.ended
  })

  test('stays open while auth fails', async () => {
    const { state, events, socket, followers } = await withUsers()
    const stream = await events('ann')
    const line = await socket('ann')
    state.isBroken = true
    const { asked } = state
    await until(() => state.asked > asked + 8)
    expect([stream.read.hasEnded, line.ws.readyState, followers()]).toEqual([false, line.ws.OPEN, 2])
  })

  test('is no longer checked after it has ended', async () => {
    const { state, url, headersOf, socket, followers } = await withUsers()
    const line = await socket('ann')
    const controller = new AbortController()
    const init = { headers: headersOf('ann'), signal: controller.signal }
    await fetch(`${url}/threads/${owned}/events`, init)
    await until(() => followers() === 2)
    line.ws.terminate()
    controller.abort()
    await until(() => followers() === 0)
    const { asked } = state
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(state.asked).toBe(asked)
  })

  test.each(['sse', 'websocket', 'auto'] as const)(
    'ends with the reason for the client package over %s',
    async (transport) => {
      const { url, revoked } = await withUsers()
      const thread = client(url, { token: 'ann', transport, retry: { baseMs: 1, maxDelayMs: 5 } }).thread(
        owned,
      )
      const opened = Promise.withResolvers<void>()
      const following = (async () => {
        for await (const entry of thread.follow()) if (entry.seq === 1) opened.resolve()
      })()
      await thread.send('Hi')
      await opened.promise
      revoked.add('ann')
      await expect(following).rejects.toMatchObject({ code: 'auth', status: 401 })
    },
  )

  test('continues for a client that has a newer token', async () => {
    const { url, revoked, app } = await withUsers()
    let token = 'ann'
    const errors: string[] = []
    const thread = client(url, {
      token: () => token,
      transport: 'sse',
      retry: { baseMs: 1, maxDelayMs: 5 },
      onRetry: ({ message }) => errors.push(message),
    }).thread(owned)
    const seen: number[] = []
    const controller = new AbortController()
    const following = (async () => {
      for await (const { seq } of thread.follow({ signal: controller.signal })) seen.push(seq)
    })()
    await app.thread(owned, { user: 'ann' }).send('One')
    await until(() => seen.length > 0)
    token = 'bob'
    revoked.add('ann')
    await until(() => errors.length > 0)
    const { head } = await app.thread(owned, { user: 'ann' }).info()
    const next = await app.thread(owned, { user: 'ann' }).send('Two')
    await until(() => seen.includes(next))
    expect(seen).toEqual(seen.map((_, index) => index + 1))
    expect(seen.length).toBeGreaterThan(head)
    controller.abort()
    await following
  })
})

describe('app.signOut()', () => {
  const call = (method: string, params: object, id: number) => ({ jsonrpc: '2.0', id, method, params })

  test('ends all streams of a user at once, of every protocol, and no others', async () => {
    const { app, url, events, socket, headersOf, followers } = await withUsers(60_000)
    const [anns, bobs] = [await events('ann'), await events('bob')]
    const sockets = [await socket('ann'), await socket('bob')] as const
    const post = (body: object, more: Record<string, string> = {}) =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          ...headersOf('ann'),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...more,
        },
        body: JSON.stringify(body),
      })
    const clientInfo = { name: 't', version: '1' }
    const hello = await post(
      call('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }, 1),
    )
    await hello.text()
    const session = { 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '' }
    const asked = call('tools/call', { name: 'muser', arguments: { prompt: 'Think.' } }, 2)
    const tool = bodyOf((await post(asked, session)).body)
    await until(() => followers() === 5)
    expect(app.signOut('ann')).toBe(3)
    await anns.ended
    await tool.ended
    expect(tool.read.text).not.toContain('"id":2')
    expect(await sockets[0].closed).toMatchObject({ code: 1008 })
    // In this version of MCP, a call continues without its client.
    await until(() => followers() === 3)
    expect([bobs.read.hasEnded, sockets[1].ws.readyState]).toEqual([false, sockets[1].ws.OPEN])
    expect([app.signOut('ann'), app.signOut('eve')]).toEqual([0, 0])
    // `auth` decides about the next request.
    expect((await events('ann')).read.hasEnded).toBe(false)
  })

  test('stops the run of an MCP call that ends with its stream', async () => {
    const { app, url } = await withUsers(60_000)
    const caller = await connectStateless(`${url}/mcp`, { token: 'ann' })
    const progress: string[] = []
    const onProgress = (message: string) => progress.push(message)
    caller.call('muser', { prompt: 'Think.' }, { onProgress }).catch(() => {})
    await until(() => progress.includes('Hm.'))
    expect(app.signOut('ann')).toBe(1)
    await until(async () => (await app.threads({ status: 'running' })).threads.length === 0)
  })

  test('also ends a stream that is just being opened', async () => {
    const gate = Promise.withResolvers<void>()
    let isOut = false
    const { app } = served(storyteller(), {
      recheckMs: 60_000,
      async auth(request) {
        const known = isOut ? null : byToken(request)
        await gate.promise
        return known
      },
    })
    await app.thread(owned, { user: 'ann' }).create()
    const { url } = await app.listen()
    const headers = { authorization: 'Bearer ann' }
    const opening = fetch(`${url}/threads/${owned}/events`, { headers })
    await new Promise((resolve) => setTimeout(resolve, 30))
    isOut = true
    expect(app.signOut('ann')).toBe(0)
    gate.resolve()
    await bodyOf((await opening).body).ended
  })
})

test('checks are spread evenly over time, once per stream', async () => {
  const access = openAccess({ recheckMs: 100 })
  const checked: number[] = []
  let turn: number[] = []
  const turns: number[][] = []
  const release = Array.from({ length: 100 }, (_, index) =>
    access.watch(
      {
        user: 'ann',
        end() {},
        async isAllowed() {
          if (turn.length === 0)
            setImmediate(() => {
              turns.push(turn)
              turn = []
            })
          turn.push(index)
          checked.push(index)
          return true
        },
      },
      0,
    ),
  )
  onTestFinished(() => {
    for (const one of release) one()
  })
  await until(() => checked.length >= 200)
  expect(checked.slice(0, 200)).toEqual([...Array(100).keys(), ...Array(100).keys()])
  expect(new Set(turns.map(({ length }) => length))).toEqual(new Set([25]))
})
