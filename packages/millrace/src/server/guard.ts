import { httpError } from '../protocols/index.ts'

export interface GuardOptions {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
}

/** Keeps away what a browser was lured into sending: see the two checks. */
export interface Guard {
  /** Throws 403 if the request is not for this server, or comes from a page that may not send it. */
  check(
    request: Request,
    from: { readonly localAddress?: string | undefined; readonly strict: boolean },
  ): void
  /** What a page of a listed origin needs to read the answer; nothing for others. */
  corsHeaders(request: Request): Record<string, string>
}

export function guard({ hosts, origins }: GuardOptions): Guard {
  const names = new Set(hosts.map((name) => name.toLowerCase()))

  /** A page of another site can have its name point here (DNS rebinding), but then the browser says that name. */
  function isOurs(hostname: string, localAddress: string | undefined): boolean {
    return isLoopback(hostname) || names.has(hostname) || bare(hostname) === plain(localAddress)
  }

  /** Browsers tell where a page comes from with everything but plain reading; other clients say nothing. */
  function isWelcome(origin: string | null, host: string): boolean {
    if (origin === null || origins.includes(origin)) return true
    // The scheme is that of a proxy, if there is one.
    return URL.canParse(origin) && new URL(origin).host === host
  }

  return {
    check(request, { localAddress, strict }) {
      const { hostname, host } = new URL(request.url)
      if (!isOurs(hostname, localAddress))
        throw httpError(
          403,
          'auth',
          `this server does not go by the name '${hostname}': list it in its hosts`,
        )
      const reads = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS'
      if ((strict || !reads) && !isWelcome(request.headers.get('origin'), host))
        throw httpError(403, 'auth', 'pages of this origin may not use this server: list it in its origins')
    },
    corsHeaders(request) {
      const origin = request.headers.get('origin')
      if (origin === null || !origins.includes(origin)) return {}
      return {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'retry-after, mcp-session-id',
      }
    },
  }
}

export const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers': [
    'authorization, content-type, idempotency-key, last-event-id',
    // Those of pages that are traced themselves.
    'traceparent, tracestate',
    // Of the two kinds of MCP clients, those with sessions and those without.
    'mcp-protocol-version, mcp-session-id, mcp-method, mcp-name',
  ].join(', '),
  'access-control-max-age': '600',
}

/** `localhost` and what is below it, 127.0.0.0/8 and ::1, as in a URL or as an address. */
export function isLoopback(host: string): boolean {
  const name = bare(host).toLowerCase()
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true
  return /^127\.\d+\.\d+\.\d+$/.test(name)
}

/** A socket that takes both kinds of address shows IPv4 in the dress of IPv6. */
function plain(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:/, '')
}

/** IPv6 stands in brackets in a URL. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
