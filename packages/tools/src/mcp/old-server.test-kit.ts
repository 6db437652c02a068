// Run as a program: `node old-server.test-kit.ts <stdio|http|stateless|sse> [port]`. Servers of the official SDK 1, as in its examples.
import { randomUUID } from 'node:crypto'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { type Call, growing, listen, type Offered, offered } from './server-tools.test-kit.ts'

process.stderr.write('the server starts\n')
const [kind = '', port] = process.argv.slice(2)
const sessions = new Map<string, StreamableHTTPServerTransport>()
const streams = new Map<string, SSEServerTransport>()

const kinds: Record<string, () => unknown> = {
  stdio: () => serveOn(new StdioServerTransport()),
  http: () =>
    listen(port, async (request, response) => {
      const session = request.headers['mcp-session-id']
      const known = sessions.get(String(session))
      if (known) return known.handleRequest(request, response)
      if (session !== undefined) return response.writeHead(404).end('{"error":"there is no such session"}')
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      })
      await serveOn(transport as Transport)
      return transport.handleRequest(request, response)
    }),
  stateless: () =>
    listen(port, async (request, response) => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const transport = new StreamableHTTPServerTransport({})
      await serveOn(transport as Transport)
      return transport.handleRequest(request, response)
    }),
  sse: () =>
    listen(port, async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
      if (pathname === '/messages')
        return streams.get(searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response)
      if (request.method !== 'GET') return response.writeHead(405).end()
      const transport = new SSEServerTransport('/messages', response)
      streams.set(transport.sessionId, transport)
      return serveOn(transport)
    }),
}
kinds[kind]?.()

function serveOn(transport: Transport): Promise<void> {
  const server = new McpServer({ name: 'kit', version: '1' }, { instructions: 'Be gentle' })
  for (const [name, tool] of Object.entries(offered)) add(name, tool)
  growing(add)
  return server.connect(transport)

  function add(name: string, { config, run }: Offered) {
    const handle = (input: never, { signal, _meta, sendNotification: notify }: Context) =>
      run(input, { signal, token: _meta?.progressToken, notify })
    server.registerTool(name, config as never, handle as never)
  }
}

interface Context {
  signal: AbortSignal
  _meta?: { progressToken?: string }
  sendNotification: Call['notify']
}
