import { httpError } from '../protocols/index.ts'

export interface OriginCheckOptions {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
}

/** Protects against DNS rebinding and cross-site request forgery. */
export interface OriginCheck {
  /**
   * Throws 403 if the request is for another host, or comes from a page whose origin is not
   * allowed.
   */
  check(
    request: Request,
    from: { readonly localAddress?: string | undefined; readonly strict: boolean },
  ): void
  /** The CORS headers for a page of a listed origin; empty for other origins. */
  corsHeaders(request: Request): Record<string, string>
}

export function originCheck({ hosts, origins }: OriginCheckOptions): OriginCheck {
  const names = new Set(hosts.map((name) => name.toLowerCase()))

  /**
   * With DNS rebinding, the domain of another site resolves to this server. The browser still sends
   * that domain as the host.
   */
  function isOwnHost(hostname: string, localAddress: string | undefined): boolean {
    return isLoopback(hostname) || names.has(hostname) || withoutBrackets(hostname) === unmapped(localAddress)
  }

  /**
   * Browsers send `origin` with every request except simple reads. Other clients do not send it.
   */
  function isAllowedOrigin(origin: string | null, host: string): boolean {
    if (origin === null || origins.includes(origin)) return true
    // The scheme is not compared: behind a proxy it is the one of the proxy.
    return URL.canParse(origin) && new URL(origin).host === host
  }

  return {
    check(request, { localAddress, strict }) {
      const { hostname, host } = new URL(request.url)
      if (!isOwnHost(hostname, localAddress))
        throw httpError(403, 'auth', `unknown host '${hostname}': add it to the server's hosts option`)
      const reads = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS'
      if ((strict || !reads) && !isAllowedOrigin(request.headers.get('origin'), host))
        throw httpError(403, 'auth', "this origin is not allowed: add it to the server's origins option")
    },
    corsHeaders(request) {
      const origin = request.headers.get('origin')
      if (origin === null || !origins.includes(origin)) return {}
      return {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'retry-after, mcp-session-id, x-thread-id, x-request-id, request-id',
      }
    },
  }
}

const stainlessHeaders = [
  ...['lang', 'package-version', 'os', 'arch', 'runtime', 'runtime-version', 'retry-count', 'timeout'],
  ...['helper', 'helper-method', 'poll-helper', 'custom-poll-interval'],
].map((name) => `x-stainless-${name}`)

export const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
  'access-control-allow-headers': [
    'authorization, content-type, idempotency-key, last-event-id',
    // Sent by pages that are traced.
    'traceparent, tracestate',
    // Sent by MCP clients, with and without sessions.
    'mcp-protocol-version, mcp-session-id, mcp-method, mcp-name',
    // Sent by A2A clients.
    'a2a-version, a2a-extensions',
    // Sent by `openai`, `@anthropic-ai/sdk` and other clients of these APIs. Browsers that let a page
    // set user-agent ask for it. A wildcard does not work with credentials.
    'x-thread-id, x-api-key, user-agent, openai-organization, openai-project',
    'anthropic-version, anthropic-beta, anthropic-dangerous-direct-browser-access',
    ...stainlessHeaders,
  ].join(', '),
  'access-control-max-age': '600',
}

/** `localhost` and its subdomains, 127.0.0.0/8 and ::1, as a URL host or as an address. */
export function isLoopback(host: string): boolean {
  const name = withoutBrackets(host).toLowerCase()
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true
  return /^127\.\d+\.\d+\.\d+$/.test(name)
}

/** A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses. */
function unmapped(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:/, '')
}

/** IPv6 addresses have brackets in a URL. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
