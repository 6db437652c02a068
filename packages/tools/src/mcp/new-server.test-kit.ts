// Run as a program: `node new-server.test-kit.ts <stdio|http> [port]`. Servers of the official SDK 2, as in its documentation.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { type Call, growing, listen, type Offered, offered } from './server-tools.test-kit.ts'

process.stderr.write('the server starts\n')
const [transport, port] = process.argv.slice(2)
let announce = () => {}

if (transport === 'stdio') serveStdio(newServer)
else {
  const handler = createMcpHandler(newServer)
  announce = () => handler.notify.toolsChanged()
  listen(port, async (request, response) =>
    answer(response, await handler.fetch(toRequest(request, response))),
  )
}

function newServer(): McpServer {
  const server = new McpServer(
    { name: 'kit', version: '2' },
    { instructions: 'Be gentle', capabilities: { tools: { listChanged: true }, logging: {} } },
  )
  for (const [name, tool] of Object.entries(offered)) add(name, tool)
  growing(add, () => announce())
  const noInput = z.object({})
  const form = (field: z.ZodType) =>
    inputRequired.elicit({ message: 'Sure?', requestedSchema: z.object({ sure: field }) })
  server.registerTool('deploy', { description: 'Asks first', inputSchema: noInput }, (_, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.sure as { action: string; content?: object } | undefined
    if (!answer) return inputRequired({ inputRequests: { sure: form(z.boolean()) }, requestState: 'state' })
    const state = mcpReq.requestState()
    return says(
      `${state === 'state' ? '' : 'without state '}${answer.action}: ${JSON.stringify(answer.content ?? null)}`,
    )
  })
  const question = (message: string) =>
    inputRequired.elicit({ message, requestedSchema: z.object({ answer: z.string() }) })
  const sampling = inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: 'Hm?' } }],
    maxTokens: 10,
  })
  server.registerTool('survey', { description: 'Asks three', inputSchema: noInput }, (_, { mcpReq }) => {
    const { one, two, model } = (mcpReq.inputResponses ?? {}) as Record<
      string,
      { content: Record<string, string> }
    >
    if (!one)
      return inputRequired({ inputRequests: { one: question('1?'), two: question('2?'), model: sampling } })
    return says(`${one.content.answer} and ${two?.content.answer}, ${model?.content.text}`)
  })
  server.registerTool('chatter', { description: 'Always asks', inputSchema: noInput }, () =>
    inputRequired({ inputRequests: { model: sampling } }),
  )
  server.registerTool('log', { description: 'Logs', inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    await mcpReq.log('warning', { disk: 'full' }, 'kit')
    return { content: [] }
  })
  return server

  function add(name: string, { config, run }: Offered) {
    const handle = (input: never, { mcpReq: { signal, _meta, notify } }: Context) =>
      run(input, { signal, token: _meta?.progressToken, notify })
    server.registerTool(name, config as never, handle as never)
  }
}

const says = (text: string) => ({ content: [{ type: 'text' as const, text }] })

interface Context {
  mcpReq: { signal: AbortSignal; _meta?: { progressToken?: string }; notify: Call['notify'] }
}

function toRequest(request: IncomingMessage, response: ServerResponse): Request {
  const controller = new AbortController()
  response.on('close', () => controller.abort())
  return new Request(`http://127.0.0.1${request.url}`, {
    method: request.method ?? 'GET',
    headers: request.headers as Record<string, string>,
    signal: controller.signal,
    ...(request.method === 'POST' && { body: Readable.toWeb(request) as never, duplex: 'half' }),
  } as RequestInit)
}

function answer(response: ServerResponse, { status, headers, body }: Response) {
  response.writeHead(status, Object.fromEntries(headers))
  if (!body) return response.end()
  return Readable.fromWeb(body as ReadableStream)
    .on('error', () => {})
    .pipe(response)
}
