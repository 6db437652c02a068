import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WebFetchOptions } from '../packages/tools/src/index.ts'

type Lookup = NonNullable<WebFetchOptions['lookup']>

export interface Network {
  readonly privatePort: number
  readonly publicPort: number
  readonly lookup: Lookup
  /** Hosts that may be fetched although they are on this machine: they stand for the public web. */
  readonly allowed: readonly string[]
  /** The requests that reached the private server. */
  readonly seen: () => readonly string[]
  close(): Promise<void>
}

/** Names for tests. A name with two lists resolves to the second one the next time. */
const names: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'docs.example.test': [['127.0.0.1']],
  'denied.example.test': [['127.0.0.1']],
  localhost: [['127.0.0.1', '::1']],
  'loopback.example.test': [['127.0.0.1']],
  'loopback6.example.test': [['::1']],
  'mapped.example.test': [['::ffff:127.0.0.1']],
  'zero.example.test': [['0.0.0.0']],
  'lan.example.test': [['192.168.1.1']],
  'link.example.test': [['169.254.1.1']],
  'metadata.example.test': [['169.254.169.254']],
  'metadata6.example.test': [['fd00:ec2::254']],
  'both.example.test': [['93.184.215.14', '127.0.0.1']],
  // 127.0.0.2 is allowed, and no server listens there.
  'fickle.example.test': [['127.0.0.2'], ['127.0.0.1']],
}

/**
 * Two real servers: a private one that must never be reached, and one for the public web, which
 * redirects to `?to=`.
 */
export async function network(): Promise<Network> {
  const asked: string[] = []
  const secretive: RequestListener = ({ method, url, headers }, response) => {
    asked.push(`${method} ${headers.host}${url}`)
    response.end('a private page')
  }
  const open: RequestListener = ({ url = '/' }, response) => {
    const to = new URL(url, 'http://here').searchParams.get('to')
    if (to === null)
      return void response.writeHead(200, { 'content-type': 'text/plain' }).end('a public page')
    response.writeHead(302, { location: to }).end()
  }
  const ipv4 = await listening(secretive, '127.0.0.1', 0)
  const privatePort = portOf(ipv4)
  // Without IPv6, nothing can be reached over it either.
  const ipv6 = await listening(secretive, '::1', privatePort).catch(() => undefined)
  const there = await listening(open, '127.0.0.1', 0)
  const times = new Map<string, number>()
  return {
    privatePort,
    publicPort: portOf(there),
    allowed: ['docs.example.test', 'denied.example.test', '127.0.0.2'],
    seen: () => asked,
    lookup(name, _, callback) {
      const time = times.get(name) ?? 0
      times.set(name, time + 1)
      const found = names[name]?.[time] ?? names[name]?.at(-1)
      if (!found) return callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), [])
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    },
    async close() {
      for (const server of [ipv4, ipv6, there]) {
        server?.closeAllConnections()
        await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
      }
    },
  }
}

async function listening(handler: RequestListener, host: string, port: number): Promise<Server> {
  const server = createServer(handler)
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
