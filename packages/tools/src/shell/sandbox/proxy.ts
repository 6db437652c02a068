import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { connect, isIP, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { messageOf } from 'millrace/internal'
import { nodeHttp } from '../../node-http.ts'
import { canonicalHost, hostPattern } from '../../permission/host-pattern.ts'
import { connectionFailure } from '../../web-fetch/failures.ts'
import { fixedLookup } from '../../web-fetch/fixed-lookup.ts'
import { findAddresses, type Lookup, notPublicAmong } from '../../web-fetch/resolve.ts'
import { addressOf, hostOf } from '../../web-fetch/target.ts'

/** An HTTP proxy: the only way out of a sandbox that may reach some hosts. */
export interface HostProxy {
  /** Serves a socket that listens inside the sandbox. Does not keep this process running. */
  serve(listener: Server): ProxySession
}

/** The proxy of one command. */
export interface ProxySession {
  /** Hosts that were denied. */
  readonly denied: ReadonlySet<string>
  /** Ends all connections. Can be called twice. */
  close(): void
}

interface HostRule {
  readonly matches: (host: string, port: number) => boolean
  /** Whether the host may be in the private network, or this machine. */
  readonly mayBePrivate: boolean
}

/**
 * `example.com` allows ports 80 and 443, `example.com:8080` that port. Throws if it is not valid.
 */
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
interface ProxyError {
  readonly status: number
  readonly problem: string
}

interface ProxyLimits {
  readonly lookup?: Lookup
  /** Idle connections are closed after this time. */
  readonly idleMs?: number
  /** Connections beyond this number are closed at once. */
  readonly maxConnections?: number
}

/** How many denied hosts are remembered. */
const maxDenied = 20

export function hostProxy(
  hosts: readonly string[],
  { lookup = systemLookup, idleMs = 300_000, maxConnections = 256 }: ProxyLimits = {},
): HostProxy {
  const rules = hosts.map(hostRule)
  const isListed = (host: string, port: number) => rules.some(({ matches }) => matches(host, port))
  const isNamed = (host: string, port: number) =>
    rules.some(({ matches, mayBePrivate }) => mayBePrivate && matches(host, port))

  function serve(listener: Server): ProxySession {
    const denied = new Set<string>()
    const sockets = new Set<Socket>()
    const ending = new AbortController()

    /** The only addresses to connect to: the name is not looked up again. */
    async function routeTo(url: URL): Promise<readonly LookupAddress[] | ProxyError> {
      const [host, port] = [hostOf(url), portOf(url)]
      if (!isListed(host, port)) return deny(named(url))
      try {
        const addresses = await findAddresses(url, { lookup, signal: ending.signal })
        if (isNamed(host, port)) return addresses
        const what = notPublicAmong(addresses.filter(({ address }) => !isNamed(hostFor(address), port)))
        return what ? deny(`${named(url)} (${what})`) : addresses
      } catch (error) {
        return { status: 502, problem: messageOf(error) }
      }
    }

    function deny(what: string): ProxyError {
      if (denied.size < maxDenied) denied.add(what)
      return {
        status: 403,
        problem: `${what} is not allowed from this sandbox. Allowed: ${hosts.join(', ')}`,
      }
    }

    /** `CONNECT host:port`. The traffic is not inspected. */
    async function tunnel(target: string, client: Socket, head: Buffer) {
      client.on('error', () => {})
      client.setTimeout(idleMs, () => client.destroy())
      const url = URL.parse(`http://${target}`)
      const route = url ? await routeTo(url) : badRequest
      if (!url || 'status' in route) return client.end(rawResponse(route as ProxyError))
      const upstream = connect({ ...destination(url, route), allowHalfOpen: true })
      upstream.unref()
      client.allowHalfOpen = true
      client.on('close', () => upstream.destroy())
      let isOpen = false
      upstream.on('error', (error) => {
        if (!isOpen) client.end(rawResponse(unreached(url, error)))
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
      // The client disconnected before the response.
      response.on('error', () => {})
      const url = URL.parse(request.url ?? '')
      const route = url?.protocol === 'http:' ? await routeTo(url) : badRequest
      if (!url || 'status' in route) return respond(response, route as ProxyError)
      if (response.destroyed) return
      const upstream = nodeHttp().request({
        ...destination(url, route),
        method: request.method,
        path: url.pathname + url.search,
        // Ignores the client's Host header: this is the host that was checked.
        headers: { ...passedOn(request.headers), host: url.host },
        agent: false,
      })
      upstream.on('socket', (socket) => socket.unref())
      upstream.on('response', (given) => {
        try {
          response.writeHead(given.statusCode ?? 0, passedOn(given.headers))
        } catch {
          // Node accepts a status such as 099, but does not write it.
          return upstream.destroy(new Error('malformed HTTP response'))
        }
        pipeline(given, response, () => {})
      })
      upstream.on('upgrade', (_, socket) => socket.destroy())
      // Once the headers are sent, `pipeline` handles a broken body.
      const fail = (error?: unknown) => {
        if (!response.headersSent) respond(response, unreached(url, error))
      }
      upstream.on('error', fail)
      upstream.on('close', fail)
      response.on('close', () => upstream.destroy())
      request.pipe(upstream)
    }

    const http = nodeHttp().createServer((request, response) => {
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
    // Out of file descriptors: the client will retry.
    listener.on('error', () => {})
    listener.unref()

    return {
      denied,
      close() {
        ending.abort()
        listener.close()
        for (const socket of sockets) socket.destroy()
      },
    }
  }

  return { serve }
}

const badRequest: ProxyError = {
  status: 400,
  problem: 'this is a proxy: use CONNECT host:port or http:// URLs',
}

function portOf(url: URL): number {
  return Number(url.port || 80)
}

/** An address as written in a URL. */
function hostFor(address: string): string {
  return canonicalHost(isIP(address) === 6 ? `[${address}]` : address) ?? ''
}

function named(url: URL): string {
  return [80, 443].includes(portOf(url)) ? hostOf(url) : `${hostOf(url)}:${portOf(url)}`
}

function destination(url: URL, addresses: readonly LookupAddress[]) {
  return { host: addressOf(url), port: portOf(url), lookup: fixedLookup(addresses) }
}

/**
 * RFC 9110 §7.6.1: headers of this connection alone. The framing of the body is the same on both
 * sides.
 */
const hopByHop = 'connection proxy-connection keep-alive proxy-authorization te trailer upgrade'.split(' ')

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const own = [...hopByHop, ...(headers.connection ?? '').toLowerCase().split(/\s*,\s*/)]
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.includes(name)))
}

function unreached(url: URL, error: unknown): ProxyError {
  return { status: 502, problem: connectionFailure(url, error).message }
}

function respond(response: ServerResponse, { status, problem }: ProxyError) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${problem}.\n`)
}

function rawResponse({ status, problem }: ProxyError): string {
  const head = `HTTP/1.1 ${status} ${nodeHttp().STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8`
  return `${head}\r\nConnection: close\r\n\r\n${problem}.\n`
}
