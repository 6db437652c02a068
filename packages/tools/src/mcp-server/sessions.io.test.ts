import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { muser, storyteller, until } from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { mcpProtocol } from './endpoint.ts'
import type { McpClient } from './mcp-clients.test-kit.ts'
import { connectStateless, connectV1 } from './mcp-clients.test-kit.ts'
import { eventsOf, serving } from './serving.test-kit.ts'

describe('a client without sessions', () => {
  test('stops a call by disconnecting', async () => {
    const { app, url } = await serving(muser())
    const client = await connectStateless(url)
    const messages: string[] = []
    client
      .call('muser', { prompt: 'Think.' }, { onProgress: (message) => messages.push(message) })
      .catch(() => {})
    await until(() => messages.includes('Hm.'))
    await client.close()
    const [info] = (await app.threads()).threads
    await until(async () => (await eventsOf(app, info?.id)).at(-1)?.type === 'run-end')
  })
})

describe('a client with sessions', () => {
  test('that loses its connection stops nothing', async () => {
    const gate = Promise.withResolvers<string>()
    const think = tool({ name: 'think', description: 'Thinks', input: z.object({}), run: () => gate.promise })
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Thought.' : [{ call: 'think', input: {} }],
    )
    const thinker = agent({ name: 'thinker', model, tools: [think] })
    const { app, url } = await serving(thinker, { auth: byToken, limits: { streams: 1 } })
    const client = await connectV1(url, { token: 'ada' })
    const messages: string[] = []
    client
      .call('thinker', { prompt: 'Think.' }, { onProgress: (message) => messages.push(message) })
      .catch(() => {})
    await until(() => messages.includes('running think'))
    await expect(connectStateless(url, { token: 'ada' })).rejects.toThrow()
    await client.close()
    // Another stream can be opened, so the disconnect was noticed.
    let next: McpClient | undefined
    await until(async () => {
      next = await connectStateless(url, { token: 'ada' }).catch(() => undefined)
      return next !== undefined
    })
    gate.resolve('a thought')
    const [info] = (await app.threads()).threads
    const answer = await next?.call('thinker', { thread: info?.id })
    expect(answer?.structuredContent).toMatchObject({ outcome: 'completed', text: 'Thought.' })
  })

  const post = (url: string, body: object, headers = {}, signal: AbortSignal | null = null) =>
    fetch(url, {
      signal,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
    })
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  }
  const ask = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const think = {
    jsonrpc: '2.0',
    id: 3,
    method: 'tools/call',
    params: { name: 'muser', arguments: { prompt: 'Think.' } },
  }
  async function sessionAt(url: string, headers = {}): Promise<string> {
    const response = await post(url, hello, headers)
    await response.text()
    return response.headers.get('mcp-session-id') ?? ''
  }
  const statusIn = async (url: string, session: string, headers = {}) => {
    const response = await post(url, ask, { 'mcp-session-id': session, ...headers })
    await response.text()
    return response.status
  }

  test('loses its session after being idle', async () => {
    const { url } = await serving(storyteller(), { protocols: [mcpProtocol({ sessionIdleMs: 20 })] })
    const session = await sessionAt(url)
    await until(async () => {
      await new Promise((resolve) => setTimeout(resolve, 40))
      return (await statusIn(url, session)) === 404
    })
  })

  test('makes room for another if there are too many', async () => {
    const { url } = await serving(storyteller(), { protocols: [mcpProtocol({ maxSessions: 2 })] })
    const [first, second] = [await sessionAt(url), await sessionAt(url)]
    expect(await statusIn(url, first)).toBe(200)
    const third = await sessionAt(url)
    expect(await Promise.all([first, second, third].map((one) => statusIn(url, one)))).toEqual([
      200, 404, 200,
    ])
  })

  test('keeps its session while it waits for an answer', async () => {
    const { app, url } = await serving(muser(), { protocols: [mcpProtocol({ maxSessions: 1 })] })
    const session = await sessionAt(url)
    const leave = new AbortController()
    await post(url, think, { 'mcp-session-id': session }, leave.signal)
    await until(async () => (await app.threads({ status: 'running' })).threads.length === 1)
    expect((await post(url, hello)).status).toBe(503)
    expect(await statusIn(url, session)).toBe(200)
    leave.abort()
    await until(async () => (await sessionAt(url)) !== '')
  })

  test('has at most as many sessions as its user may have streams', async () => {
    const { url } = await serving(storyteller(), { auth: byToken, limits: { streams: 1 } })
    const [ada, bob] = [{ authorization: 'Bearer ada' }, { authorization: 'Bearer bob' }]
    const others = await sessionAt(url, bob)
    const [first, second] = [await sessionAt(url, ada), await sessionAt(url, ada)]
    expect(await statusIn(url, first, ada)).toBe(404)
    expect(await statusIn(url, second, ada)).toBe(200)
    expect(await statusIn(url, others, bob)).toBe(200)
  })

  test("cannot use another user's session", async () => {
    const { url } = await serving(storyteller(), { auth: byToken })
    const session = await sessionAt(url, { authorization: 'Bearer ada' })
    expect(await statusIn(url, session, { authorization: 'Bearer bob' })).toBe(404)
    expect(await statusIn(url, session, { authorization: 'Bearer ada' })).toBe(200)
  })

  test('can cancel, or end its session, at the limit of streams', async () => {
    const { app, url } = await serving(muser(), { auth: byToken, limits: { streams: 1 } })
    const ada = { authorization: 'Bearer ada' }
    const session = { 'mcp-session-id': await sessionAt(url, ada), ...ada }
    const call = await post(url, think, session)
    await until(async () => (await app.threads({ status: 'running' })).threads.length === 1)
    expect((await post(url, ask, session)).status).toBe(429)
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } }
    expect((await post(url, cancel, session)).status).toBe(202)
    await until(async () => (await app.threads({ status: 'idle' })).threads.length === 1)
    await call.body?.cancel()
    await until(async () => (await post(url, { ...think, id: 4 }, session)).status === 200)
    expect((await fetch(url, { method: 'DELETE', headers: session })).status).toBe(200)
    await until(async () => (await app.threads({ status: 'idle' })).threads.length === 2)
  })

  test('is rate limited for each request of a batch', async () => {
    const limits = { requestsPerSecond: 1 }
    const { app, url } = await serving(muser(), { auth: byToken, limits })
    const ada = { authorization: 'Bearer ada' }
    const session = { 'mcp-session-id': await sessionAt(url, ada), ...ada }
    const many = Array.from({ length: 50 }, (_, index) => ({ ...think, id: 10 + index }))
    expect((await post(url, many, session)).status).toBe(429)
    expect((await app.threads()).threads).toEqual([])
  })

  test('ends its session, and with it its calls', async () => {
    const { app, url } = await serving(muser())
    const session = await sessionAt(url)
    const call = await post(url, think, { 'mcp-session-id': session })
    await until(async () => (await app.threads({ status: 'running' })).threads.length === 1)
    const ended = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
    expect(ended.status).toBe(200)
    await call.text()
    await until(async () => (await app.threads({ status: 'idle' })).threads.length === 1)
    expect(await statusIn(url, session)).toBe(404)
  })

  test('without a session id, and without initialize, is rejected', async () => {
    const { url } = await serving(storyteller())
    expect((await post(url, ask)).status).toBe(400)
    expect((await fetch(url)).status).toBe(405)
  })
})
