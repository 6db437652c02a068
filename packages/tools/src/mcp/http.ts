import { messageOf } from 'millrace/internal'
import { inOrder, withTasks } from './in-order.ts'
import { headersProblem, type McpHeaders, type McpUrl } from './options.ts'
import type { Sdk, Transport } from './sdk.ts'

/** The two MCP transports over HTTP. */
export type HttpKind = 'streamable' | 'sse'

export function httpTransport(kind: HttpKind, options: McpUrl, sdk: Sdk): Transport {
  const { headers, authProvider } = options
  const url = new URL(options.url)
  const given = options.fetch ?? fetch
  const shared = {
    fetch: headers === undefined ? given : withHeaders(given, headers, url.origin),
    ...(authProvider && { authProvider }),
  }
  if (kind === 'sse') return inOrder(new sdk.SSEClientTransport(url, shared))
  return failOnStreamEnd(
    withTasks(
      new sdk.StreamableHTTPClientTransport(url, {
        ...shared,
        // A broken stream is resumed, for about eight minutes.
        reconnectionOptions: {
          initialReconnectionDelay: 1_000,
          maxReconnectionDelay: 30_000,
          reconnectionDelayGrowFactor: 1.5,
          maxRetries: 20,
        },
      }),
    ),
  )
}

export const streamEnded = 'the stream ended without a response'

/** The SDK lets a request whose stream has ended wait for its timeout. This fails it at once. */
function failOnStreamEnd<T extends Transport>(transport: T): T {
  const send = transport.send.bind(transport)
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.()
        if ('method' in message && 'id' in message)
          transport.onmessage?.({
            jsonrpc: '2.0',
            id: message.id,
            error: { code: -32000, message: streamEnded },
          })
      },
    })
  return transport
}

/**
 * Adds the headers only for the server itself, not for requests to other hosts such as a token
 * endpoint.
 */
function withHeaders(given: typeof fetch, extra: McpHeaders, origin: string) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (new URL(url).origin !== origin) return given(url, init)
    const headers = new Headers(init?.headers)
    for (const [name, value] of Object.entries(await valuesOf(extra))) headers.set(name, value)
    return given(url, { ...init, headers })
  }
}

async function valuesOf(headers: McpHeaders): Promise<Readonly<Record<string, string>>> {
  if (typeof headers !== 'function') return headers
  try {
    const values = await headers()
    const problem = headersProblem(values)
    if (problem) throw new TypeError(`what it returned ${problem}`)
    return values
  } catch (error) {
    // Without the cause: a missing local file is not an error of the server.
    throw new Error(`headers() failed: ${messageOf(error)}`)
  }
}
