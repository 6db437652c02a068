import { messageOf } from 'millrace/internal'
import { inTurn } from './in-turn.ts'
import { headersProblem, type McpHeaders, type McpUrl } from './options.ts'
import type { Sdk, Transport } from './sdk.ts'

/** The two ways to speak MCP over HTTP. */
export type HttpKind = 'streamable' | 'sse'

export function httpTransport(kind: HttpKind, options: McpUrl, sdk: Sdk): Transport {
  const { headers, authProvider } = options
  const url = new URL(options.url)
  const given = options.fetch ?? fetch
  const shared = {
    fetch: headers === undefined ? given : withHeaders(given, headers, url.origin),
    ...(authProvider && { authProvider }),
  }
  if (kind === 'sse') return inTurn(new sdk.SSEClientTransport(url, shared))
  return answering(
    new sdk.StreamableHTTPClientTransport(url, {
      ...shared,
      // A stream that broke is taken up again where it broke, for some eight minutes.
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 1.5,
        maxRetries: 20,
      },
    }),
  )
}

export const streamEnded = 'the stream ended without an answer'

/** The SDK lets a request whose stream has ended for good wait until its time is up. Here it gets an answer at once. */
function answering<T extends Transport>(transport: T): T {
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

/** Only to the server itself: what asks another host for a token has no business with them. */
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
    // Without the cause: a file that is not there is none of the server's.
    throw new Error(`headers() failed: ${messageOf(error)}`)
  }
}
