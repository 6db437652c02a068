import { PassThrough } from 'node:stream'
import type { Agent } from 'millrace'
import { millrace } from 'millrace'
import { serve } from 'millrace/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { muser, story, storyteller, until } from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { mcpProtocol } from './endpoint.ts'
import type { McpServerOptions } from './mcp-server.ts'
import { mcpServer } from './mcp-server.ts'

function mounted(agents: Agent, options: McpServerOptions = {}) {
  const app = millrace({ agents, flushMs: 0, onError: () => {} })
  const server = mcpServer(app, options)
  onTestFinished(async () => {
    await server.close()
    await app.close({ graceMs: 0 })
  })
  return { app, server }
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

function callOf(name: string, input: object, headers: Record<string, string> = {}): Request {
  return new Request('http://localhost/any/where', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: input, _meta: envelope },
    }),
  })
}

describe('fetch', () => {
  test('works at any path, without a port', async () => {
    const { server } = mounted(storyteller())
    const response = await server.fetch(callOf('storyteller', { prompt: 'Tell.' }))
    expect(response.headers.get('content-type')).toMatch('text/event-stream')
    expect(await response.text()).toContain(story)
  })

  test('admits only authenticated callers', async () => {
    const { server } = mounted(storyteller(), { auth: byToken, hosts: ['mill.example'] })
    const status = async (request: Request) => (await server.fetch(request)).status
    expect(await status(callOf('storyteller', { prompt: 'Tell.' }))).toBe(401)
    expect(await status(callOf('storyteller', { prompt: 'Tell.' }, { authorization: 'Bearer ada' }))).toBe(
      200,
    )
    expect(await status(new Request('http://mill.example/mcp'))).toBe(405)
    expect(await status(new Request('http://evil.example/mcp'))).toBe(403)
  })

  test('ends quietly when the reader of a waiting thread disconnects', async () => {
    const { app, server } = mounted(muser())
    const response = await server.fetch(callOf('muser', { prompt: 'Think.' }))
    await until(async () => (await app.threads({ status: 'running' })).threads.length === 1)
    await response.body?.cancel()
    await until(async () => (await app.threads({ status: 'idle' })).threads.length === 1)
  })

  test('tells the caller that the app was closed', async () => {
    const { app, server } = mounted(muser())
    const response = await server.fetch(callOf('muser', { prompt: 'Think.' }))
    await until(async () => (await app.threads({ status: 'running' })).threads.length === 1)
    await app.close({ graceMs: 0 })
    expect(await response.text()).toContain("The agent 'muser' could not be asked: the app is closed.")
  })

  test('reports the shutdown once it is closed', async () => {
    const { server } = mounted(muser())
    const response = await server.fetch(callOf('muser', { prompt: 'Think.' }))
    await server.close()
    expect(await response.text()).toContain('The server is shutting down')
    expect((await server.fetch(callOf('muser', { prompt: 'Think.' }))).status).toBe(503)
    await expect(server.stdio()).rejects.toThrow('this MCP server is closed')
  })
})

describe('stdio', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: envelope } }

  test('serves two streams until one ends or the signal is aborted', async () => {
    const { server } = mounted(storyteller())
    for (const ends of ['stdin', 'signal', 'close'] as const) {
      const [stdin, stdout, stop] = [new PassThrough(), new PassThrough(), new AbortController()]
      const serving = server.stdio({ stdin, stdout, signal: stop.signal })
      stdin.write(`${JSON.stringify(list)}\n`)
      const [line] = await new Promise<[Buffer]>((resolve) => stdout.once('data', (data) => resolve([data])))
      expect(JSON.parse(line.toString())).toMatchObject({
        id: 1,
        result: { tools: [{ name: 'storyteller' }] },
      })
      if (ends === 'stdin') stdin.end()
      if (ends === 'signal') stop.abort()
      if (ends === 'close') await server.close()
      await serving
    }
  })
})

describe('misuse', () => {
  test.each([
    [
      { describe: { storytellr: 'Tells' } },
      "describe names 'storytellr', which is not an agent of this app: did you mean 'storyteller'?",
    ],
    [{ describe: { storyteller: '' } }, /'describe\.storyteller' must be text/],
    [{ maxSessions: 0 }, /maxSessions/],
    [{ page: true }, /page/],
  ])('%j is rejected', async (options, message) => {
    const app = millrace({ agents: storyteller() })
    onTestFinished(() => app.close())
    expect(() => mcpServer(app, options as McpServerOptions)).toThrow(message)
  })

  test('a value that is not an app is rejected, and so are invalid protocol options', () => {
    expect(() => mcpServer(storyteller() as never)).toThrow(
      'mcpServer() takes an app from millrace() as its first argument',
    )
    expect(() =>
      serve({ agents: storyteller(), protocols: [mcpProtocol({ describe: { storytellr: 'x' } })] }),
    ).toThrow("'storytellr'")
    expect(() => mcpProtocol({ maxSession: 1 } as never)).toThrow(/maxSession/)
    expect(() => mcpProtocol('yes' as never)).toThrow(
      'mcpProtocol() takes an object of options, not a string',
    )
  })
})
