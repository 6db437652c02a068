import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { mcp } from '../mcp.ts'
import { call, connected, kitServer } from './kit.test-kit.ts'

interface Post {
  readonly id?: number
  readonly method: string
  readonly headers: IncomingMessage['headers']
}

interface Raw {
  /** Handles `tools/call` and GET; everything before that is handled by default. */
  readonly onCall: (response: ServerResponse, post: Post) => void
  readonly onGet?: (response: ServerResponse, headers: IncomingMessage['headers']) => void
  readonly onPost?: (post: Post, response: ServerResponse) => boolean
  readonly session?: string
}

/** A server of 2025-06-18 on a real socket. Tests provide the part they are about. */
async function rawHttp({ onCall, onGet, onPost, session }: Raw): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method === 'GET')
      return onGet ? onGet(response, request.headers) : response.writeHead(405).end()
    if (request.method !== 'POST') return response.writeHead(200).end()
    const post: Post = { ...JSON.parse(await text(request)), headers: request.headers }
    if (onPost?.(post, response)) return
    if (post.id === undefined) return response.writeHead(202).end()
    if (post.method === 'tools/call') return onCall(response, post)
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'raw', version: '0' },
      },
      'tools/list': { tools: [{ name: 'go', inputSchema: { type: 'object' } }] },
    }
    const result = results[post.method]
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(session !== undefined && { 'mcp-session-id': session }),
    })
    const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
    response.end(JSON.stringify({ jsonrpc: '2.0', id: post.id, ...answer }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (data: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...data })}\n\n`
const said = (words: string) => ({ content: [{ type: 'text', text: words }] })

test('headers are sent with each request, and computed each time', async () => {
  let asked = 0
  const got: (string | undefined)[] = []
  const url = await rawHttp({
    onCall: (response, { id, headers }) => {
      got.push(headers.authorization)
      stream(response).end(event({ id, result: said('ok') }))
    },
  })
  const box = await connected({ url, headers: async () => ({ authorization: `Bearer ${++asked}` }) })
  const before = asked
  await call(box, 'go')
  await call(box, 'go')
  expect(got).toEqual([`Bearer ${before + 1}`, `Bearer ${before + 2}`])
})

test('a headers() function that fails or returns invalid headers is explained', async () => {
  const url = await rawHttp({ onCall: () => {} })
  await expect(mcp({ url, headers: () => Promise.reject(new Error('the vault is shut')) })).rejects.toThrow(
    'headers() failed: the vault is shut',
  )
  await expect(mcp({ url, headers: () => ({ 'mcp-name': 'x' }) })).rejects.toThrow(
    "headers() failed: what it returned must not have 'mcp-name'",
  )
})

test.each([
  [401, 'requires authorization (HTTP 401): pass headers or an authProvider to mcp()'],
  [403, 'denied access (HTTP 403): the headers or authProvider passed to mcp() are not authorized'],
])('HTTP %d is explained, when connecting and in a call', async (status, sentence) => {
  let isShut = true
  const url = await rawHttp({
    onCall: () => {},
    onPost: (_, response) => {
      if (isShut) response.writeHead(status).end('secret details')
      return isShut
    },
  })
  await expect(mcp({ url, name: 'vault' })).rejects.toMatchObject({
    code: 'auth',
    status,
    message: `the MCP server 'vault' ${sentence}`,
  })
  isShut = false
  const box = await connected({ url, name: 'vault' })
  isShut = true
  await expect(call(box, 'vault_go')).rejects.toThrow(`the MCP server 'vault' ${sentence}`)
})

test('an authProvider provides the token', async () => {
  const got: unknown[] = []
  const url = await rawHttp({
    onCall: (response, { id, headers }) => {
      got.push(headers.authorization)
      stream(response).end(event({ id, result: said('ok') }))
    },
  })
  const box = await connected({ url, authProvider: { token: async () => 'abc' } })
  await call(box, 'go')
  expect(got).toEqual(['Bearer abc'])
})

test('an unreachable server is named only by its host', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  await expect(mcp({ url: `http://127.0.0.1:${port}/mcp?key=secret` })).rejects.toThrow(
    new RegExp(`^the MCP server '127\\.0\\.0\\.1:${port}' cannot be reached \\(ECONNREFUSED\\)$`),
  )
  // A port that fetch() blocks has no code, but a cause.
  await expect(mcp({ url: 'http://127.0.0.1:1/mcp' })).rejects.toThrow(
    'cannot be connected to: fetch failed: bad port',
  )
})

test('a stream that ends without a response fails at once, with an unknown outcome of the call', async () => {
  const url = await rawHttp({
    onCall: (response) =>
      stream(response).end(event({ method: 'notifications/message', params: { level: 'info', data: 1 } })),
  })
  const box = await connected({ url })
  await expect(call(box, 'go')).rejects.toThrow("the MCP server 'raw' exited during the call")
})

test('a stream that breaks after an event with an id is resumed', async () => {
  const got: unknown[] = []
  let callId: number | undefined
  const url = await rawHttp({
    onCall: (response, { id }) => {
      callId = id
      stream(response).end('retry: 10\nid: event-1\ndata: \n\n')
    },
    onGet: (response, headers) => {
      if (headers['last-event-id'] === undefined) return void response.writeHead(405).end()
      got.push(headers['last-event-id'])
      stream(response).end(event({ id: callId, result: said('resumed') }))
    },
  })
  const box = await connected({ url })
  expect(await call(box, 'go')).toBe('resumed')
  expect(got).toEqual(['event-1'])
})

test.each([
  [404, 'Not Found'],
  [400, '{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'],
])('a lost session (HTTP %d) is restarted, and the call repeated', async (status, body) => {
  let [initialized, forgotten] = [0, false]
  const url = await rawHttp({
    session: 'one',
    onPost: ({ method }, response) => {
      if (method === 'initialize') initialized++
      if (method !== 'tools/call' || forgotten) return false
      forgotten = true
      response.writeHead(status).end(body)
      return true
    },
    onCall: (response, { id }) => stream(response).end(event({ id, result: said('done') })),
  })
  const box = await connected({ url })
  expect(await call(box, 'go')).toBe('done')
  expect(initialized).toBe(2)
})

test('a call is not repeated after other errors', async () => {
  const onCall = vi.fn((response: ServerResponse) => void response.writeHead(500).end('out of order'))
  const box = await connected({ url: await rawHttp({ session: 'one', onCall }) })
  await expect(call(box, 'go')).rejects.toThrow(
    /^the MCP server 'raw' returned no usable response \(.*out of order\): /,
  )
  expect(onCall).toHaveBeenCalledTimes(1)
})

test("a protocol error is reported with the server's message", async () => {
  const url = await rawHttp({
    onCall: (response, { id }) =>
      stream(response).end(event({ id, error: { code: -32602, message: 'no such city' } })),
  })
  await expect(call(await connected({ url }), 'go')).rejects.toThrow(
    "the MCP server 'raw' rejected the call: no such city",
  )
})

test('progress extends the time of a call', async () => {
  const url = await rawHttp({
    onCall: async (response, { id, ...post }) => {
      stream(response)
      const { params } = post as unknown as { params: { _meta: { progressToken: number } } }
      const { progressToken } = params._meta
      for (let progress = 1; progress <= 8; progress++) {
        await new Promise((resolve) => setTimeout(resolve, 250))
        response.write(event({ method: 'notifications/progress', params: { progressToken, progress } }))
      }
      response.end(event({ id, result: said('at last') }))
    },
  })
  const context = toolContext()
  expect(await call(await connected({ url, timeoutMs: 1500 }), 'go', {}, context)).toBe('at last')
  expect(context.progressed).toHaveLength(8)
})

test('endless progress neither keeps a call forever nor fills the log', async () => {
  const url = await rawHttp({
    onCall: async (response, post) => {
      stream(response)
      const { params } = post as unknown as { params: { _meta: { progressToken: number } } }
      const { progressToken } = params._meta
      for (let progress = 1; !response.closed; progress++) {
        const message = 'on and on '.repeat(500)
        response.write(
          event({ method: 'notifications/progress', params: { progressToken, progress, message } }),
        )
        if (progress % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
  })
  const context = toolContext()
  const box = await connected({ url, maxTimeoutMs: 2500 })
  await expect(call(box, 'go', {}, context)).rejects.toThrow(
    /did not answer within 2500 ms: it is unknown whether the call took effect/,
  )
  expect(context.progressed.length).toBeLessThanOrEqual(1000)
  expect(JSON.stringify(context.progressed.at(-1)).length).toBeLessThan(1200)
})

test('a tool of the new protocol sends logs on request', async () => {
  const server = await kitServer('new-http')
  onTestFinished(server.stop)
  const onLog = vi.fn()
  const box = await connected({ ...server.options, onLog })
  await call(box, 'log')
  expect(onLog).toHaveBeenCalledExactlyOnceWith({
    from: 'message',
    level: 'warning',
    text: 'kit: {"disk":"full"}',
  })
})
