import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { connect, isIP, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { messageOf } from 'millrace/internal'
import { canonicalHost, hostPattern } from '../../permission/host-pattern.ts'
import { connectionFailure } from '../../web-fetch/failures.ts'
import { only } from '../../web-fetch/get.ts'
import { findAddresses, type Lookup, notPublicAmong } from '../../web-fetch/resolve.ts'
import { addressOf, hostOf } from '../../web-fetch/target.ts'

/** The only way out of a sandbox that may reach some hosts: an HTTP proxy that connects to those. */
export interface HostProxy {
  /** Answers on a socket that listens inside the sandbox. Neither it nor its connections keep this process running. */
  serve(listener: Server): ProxySession
}

/** The proxy of one command. */
export interface ProxySession {
  /** What it asked for and did not get. */
  readonly refused: ReadonlySet<string>
  /** Ends all connections. May be called twice. */
  close(): void
}

interface HostRule {
  readonly matches: (host: string, port: number) => boolean
  /** Whether the host may be one of the private network, or this machine. */
  readonly mayBePrivate: boolean
}

/** `example.com` is that host at the ports of http and https, `example.com:8080` at that one. Throws if it is neither. */
export function hostRule(entry: string): HostRule {
  const [, pattern = '', port] = /^(.*?)(?::(\d{1,5}))?$/.exec(entry) ?? []
  const isHost = hostPattern(pattern)
  const ports = port === undefined ? [80, 443] : [Number(port)]
  const name = canonicalHost(pattern) ?? ''
  return {
    matches: (host, at) => isHost(host) && ports.includes(at),
    mayBePrivate: name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0,
  }
}

/** Why there is no connection, for the client. */
interface Refusal {
  readonly status: number
  readonly problem: string
}

interface ProxyLimits {
  readonly lookup?: Lookup
  /** A connection on which nothing moves for so long is closed. */
  readonly idleMs?: number
  /** More at a time are closed at once. */
  readonly maxConnections?: number
}

/** So many are remembered; a command may ask for any number. */
const maxRefused = 20

export function hostProxy(
  hosts: readonly string[],
  { lookup = systemLookup, idleMs = 300_000, maxConnections = 256 }: ProxyLimits = {},
): HostProxy {
  const rules = hosts.map(hostRule)
  const isListed = (host: string, port: number) => rules.some(({ matches }) => matches(host, port))
  const isNamed = (host: string, port: number) =>
    rules.some(({ matches, mayBePrivate }) => mayBePrivate && matches(host, port))

  function serve(listener: Server): ProxySession {
    const refused = new Set<string>()
    const sockets = new Set<Socket>()
    const ending = new AbortController()

    /** Where to connect, and nowhere else: the name is not looked up again. */
    async function routeTo(url: URL): Promise<readonly LookupAddress[] | Refusal> {
      const [host, port] = [hostOf(url), portOf(url)]
      if (!isListed(host, port)) return refuse(named(url))
      try {
        const addresses = await findAddresses(url, { lookup, signal: ending.signal })
        if (isNamed(host, port)) return addresses
        const what = notPublicAmong(addresses.filter(({ address }) => !isNamed(hostFor(address), port)))
        return what ? refuse(`${named(url)} (${what})`) : addresses
      } catch (error) {
        return { status: 502, problem: messageOf(error) }
      }
    }

    function refuse(what: string): Refusal {
      if (refused.size < maxRefused) refused.add(what)
      return {
        status: 403,
        problem: `${what} may not be reached from this sandbox. Allowed: ${hosts.join(', ')}`,
      }
    }

    /** `CONNECT host:port`: what goes through is not looked at. */
    async function tunnel(target: string, client: Socket, head: Buffer) {
      client.on('error', () => {})
      client.setTimeout(idleMs, () => client.destroy())
      const url = URL.parse(`http://${target}`)
      const route = url ? await routeTo(url) : badRequest
      if (!url || 'status' in route) return client.end(rawAnswer(route as Refusal))
      const upstream = connect({ ...destination(url, route), allowHalfOpen: true })
      upstream.unref()
      client.allowHalfOpen = true
      client.on('close', () => upstream.destroy())
      let isOpen = false
      upstream.on('error', (error) => {
        if (!isOpen) client.end(rawAnswer(unreached(url, error)))
      })
      upstream.once('connect', () => {
        isOpen = true
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        upstream.write(head)
        pipeline(client, upstream, () => {})
        pipeline(upstream, client, () => {})
      })
    }

    /** `GET http://host/path` */
    async function forward(request: IncomingMessage, response: ServerResponse) {
      // It went away before it was answered.
      response.on('error', () => {})
      const url = URL.parse(request.url ?? '')
      const route = url?.protocol === 'http:' ? await routeTo(url) : badRequest
      if (!url || 'status' in route) return answer(response, route as Refusal)
      if (response.destroyed) return
      const upstream = httpRequest({
        ...destination(url, route),
        method: request.method,
        path: url.pathname + url.search,
        // Whatever it says it is for: the host is the one that was checked.
        headers: { ...passedOn(request.headers), host: url.host },
        agent: false,
      })
      upstream.on('socket', (socket) => socket.unref())
      upstream.on('response', (given) => {
        try {
          response.writeHead(given.statusCode ?? 0, passedOn(given.headers))
        } catch {
          // A status such as 099: Node reads it, but does not write it.
          return upstream.destroy(new Error('no proper HTTP'))
        }
        pipeline(given, response, () => {})
      })
      upstream.on('upgrade', (_, socket) => socket.destroy())
      // After the head it is the body that breaks, and `pipeline` that sees it.
      const fail = (error?: unknown) => {
        if (!response.headersSent) answer(response, unreached(url, error))
      }
      upstream.on('error', fail)
      upstream.on('close', fail)
      response.on('close', () => upstream.destroy())
      request.pipe(upstream)
    }

    const http = createServer((request, response) => {
      forward(request, response).catch(() => response.destroy())
    })
    http.on('connect', ({ url = '' }: IncomingMessage, client: Socket, head: Buffer) => {
      tunnel(url, client, head).catch(() => client.destroy())
    })
    http.timeout = idleMs
    listener.maxConnections = maxConnections
    listener.on('connection', (socket) => {
      sockets.add(socket)
      socket.unref()
      socket.on('close', () => sockets.delete(socket))
      http.emit('connection', socket)
    })
    // A machine short of descriptors: the client tries again.
    listener.on('error', () => {})
    listener.unref()

    return {
      refused,
      close() {
        ending.abort()
        listener.close()
        for (const socket of sockets) socket.destroy()
      },
    }
  }

  return { serve }
}

const badRequest: Refusal = {
  status: 400,
  problem: 'this is a proxy: it takes CONNECT host:port, and http:// URLs',
}

function portOf(url: URL): number {
  return Number(url.port || 80)
}

/** An address as it stands in a URL. */
function hostFor(address: string): string {
  return canonicalHost(isIP(address) === 6 ? `[${address}]` : address) ?? ''
}

function named(url: URL): string {
  return [80, 443].includes(portOf(url)) ? hostOf(url) : `${hostOf(url)}:${portOf(url)}`
}

function destination(url: URL, addresses: readonly LookupAddress[]) {
  return { host: addressOf(url), port: portOf(url), lookup: only(addresses) }
}

/** RFC 9110 §7.6.1: what is for this connection alone. How a body is framed is the same on both sides. */
const hopByHop = 'connection proxy-connection keep-alive proxy-authorization te trailer upgrade'.split(' ')

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const own = [...hopByHop, ...(headers.connection ?? '').toLowerCase().split(/\s*,\s*/)]
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.includes(name)))
}

function unreached(url: URL, error: unknown): Refusal {
  return { status: 502, problem: connectionFailure(url, error).message }
}

function answer(response: ServerResponse, { status, problem }: Refusal) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${problem}.\n`)
}

function rawAnswer({ status, problem }: Refusal): string {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8`
  return `${head}\r\nConnection: close\r\n\r\n${problem}.\n`
}
