import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { ToolContent, ToolContext } from 'millrace'
import { onTestFinished } from 'vitest'
import { toParts } from '../../../millrace/src/tools/content.ts'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import type { Lookup } from './resolve.ts'
import { type WebFetchOptions, webFetch } from './web-fetch.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface Site {
  readonly url: string
  readonly port: number
  /** Requested paths, in order. */
  readonly asked: string[]
  readonly requests: IncomingMessage[]
  /** How many connections were opened, and how many are open now. */
  readonly connections: { made: number; readonly open: Set<Socket> }
}

/** The loopback addresses of this machine, IPv4 and IPv6 if available. */
export const everywhere = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === '::1')
  ? '::'
  : '0.0.0.0'

/** A real server on this machine, for one test. */
export async function site(handler: Handler, { host = '127.0.0.1', port: wanted = 0 } = {}): Promise<Site> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    handler(request, response)
  })
  const { port, connections } = await listen(server, { host, port: wanted })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections,
    get asked() {
      return requests.map(({ url = '' }) => url)
    },
  }
}

/** Opens any server for one test. */
export async function listen(server: Server | NetServer, { host = '127.0.0.1', port = 0 } = {}) {
  const connections = { made: 0, open: new Set<Socket>() }
  server.on('connection', (socket: Socket) => {
    connections.made++
    connections.open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => connections.open.delete(socket))
  })
  server.listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of connections.open) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, connections }
}

/** Sends the same response to every request. */
export function serves(body: string | Buffer, headers: Record<string, string> = {}, status = 200): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'text/html', ...headers })
    response.end(body)
  }
}

/** Redirects by path; other paths return `here`. */
export function redirects(paths: Readonly<Record<string, string>>, status = 302): Handler {
  return (request, response) => {
    const location = paths[request.url ?? '']
    if (location === undefined) return serves('here', { 'content-type': 'text/plain' })(request, response)
    response.writeHead(status, { location })
    response.end()
  }
}

/** A lookup with only these names; never uses the network. */
export function names(
  known: Readonly<Record<string, string | readonly string[]>>,
): Lookup & { asked: string[] } {
  const asked: string[] = []
  const lookup: Lookup = (name, _, callback) => {
    asked.push(name)
    const found = Object.hasOwn(known, name) ? [known[name] ?? []].flat() : []
    if (found.length === 0) callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
    else
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
  }
  return Object.assign(lookup, { asked })
}

interface Input {
  readonly url: string
  readonly offset?: number
  readonly raw?: boolean
}

/** Runs the tool alone; loopback is allowed unless the options say otherwise. */
export async function fetched(
  input: string | Input,
  options: WebFetchOptions = {},
  context: Partial<ToolContext> = {},
): Promise<string | ToolContent> {
  const { run } = webFetch({ allow: ['127.0.0.1'], lookup: names({}), ...options })
  return (await run?.(
    (typeof input === 'string' ? { url: input } : input) as never,
    toolContext(context),
  )) as string
}

/** The text alone, without the tool's own notes. */
export async function textOf(...args: Parameters<typeof fetched>): Promise<string> {
  const answer = await fetched(...args)
  if (typeof answer !== 'string') throw new Error('that is not text')
  const [, ...text] = answer.split('\n\n')
  return text.join('\n\n')
}

export async function partsOf(...args: Parameters<typeof fetched>) {
  return toParts(await fetched(...args))
}

/** The error message for the model. */
export async function failure(...args: Parameters<typeof fetched>): Promise<string> {
  const answer = await fetched(...args).catch((error: Error) => error)
  if (!(answer instanceof Error)) throw new Error(`it did not fail: ${JSON.stringify(answer)}`)
  return answer.message
}
