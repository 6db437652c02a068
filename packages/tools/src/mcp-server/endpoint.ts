import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server'
import { MillraceError } from 'millrace'
import { checkOptions, invalidInput, isObject, kindOf, systemClock } from 'millrace/internal'
import type { Call, Caller, MountedProtocol, Protocol, ProtocolHost } from 'millrace/server'
import { agentCalls } from './agent-call.ts'
import { agentServers } from './agent-server.ts'
import type { ServeMcpOptions } from './options.ts'
import { mcpTable, readMcpOptions } from './options.ts'
import { loadSdk } from './sdk.ts'
import { sessions } from './sessions.ts'
import type { StdioOptions } from './stdio.ts'

/** The agents as tools of an MCP server. */
export interface McpEndpoint extends MountedProtocol {
  /** Serves the process at the other end of two streams, as this caller. Resolves when it has gone. */
  stdio(options: StdioOptions, caller: Caller): Promise<void>
  /** Answers what is open by saying that it goes away; what the agents do is left to go on. May be called twice. */
  close(): Promise<void>
}

/** The agents as tools of an MCP server, at `/mcp`: for `serve({ protocols: [mcpProtocol()] })`. Throws `invalid_input` on bad options. */
export function mcpProtocol(options: ServeMcpOptions = {}): Protocol {
  if (!isObject(options as unknown))
    throw invalidInput('mcpProtocol', `mcpProtocol() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, mcpTable, { op: 'mcpProtocol', what: 'the option' })
  return { name: 'mcp', mount: (host) => mcpEndpoint(options, host, { path: '/mcp', op: 'serve' }) }
}

export function mcpEndpoint(
  options: ServeMcpOptions,
  { agents, limits, heartbeatMs, publicError }: ProtocolHost,
  { path, op }: { readonly path: string; readonly op: string },
): McpEndpoint {
  const settings = readMcpOptions(options, { agents, op })
  const { bodyBytes } = limits
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const lines = new Set<{ close(): Promise<void> }>()
  let loading: ReturnType<typeof load> | undefined
  let closed: Promise<void> | undefined

  async function load() {
    const sdk = await loadSdk()
    const answer = agentCalls({ sdk, closing: closing.signal, heartbeatMs, publicError })
    const makeServer = agentServers({
      sdk,
      settings,
      agents,
      answer(call) {
        const answered = answer(call)
        running.add(answered)
        void answered.finally(() => running.delete(answered))
        return answered
      },
    })
    const modern = sdk.createMcpHandler(() => makeServer(callerOf), {
      legacy: 'reject',
      // The head of an answer may be waited for only so long, and a run may take longer.
      responseMode: 'sse',
      keepAliveMs: heartbeatMs,
      maxRequestBodySize: bodyBytes,
    })
    const old = sessions({
      sdk,
      makeServer: () => makeServer(callerOf),
      most: settings.maxSessions,
      perUser: limits.streams,
      idleMs: settings.sessionIdleMs,
      heartbeatMs,
      bodyBytes,
    })
    return { sdk, makeServer, modern, old }
  }

  function loaded() {
    loading ??= load()
    return loading
  }

  /** Everything that was asked has been answered, as far as that goes. */
  async function settled() {
    while (running.size > 0) await Promise.allSettled(running)
    // What was answered is written in the turn after.
    await systemClock.turn()
  }

  async function close() {
    closing.abort()
    await settled()
    const parts = await loading?.catch(() => undefined)
    await Promise.all([parts?.modern.close(), parts?.old.close(), ...[...lines].map((line) => line.close())])
  }

  async function handle(call: Call): Promise<Response> {
    const { request, caller, signal } = call
    const { sdk, modern, old } = await loaded().catch((cause: MillraceError) => {
      // Not the client's doing.
      throw new MillraceError({ op: 'server.mcp', code: 'internal', message: cause.message, cause })
    })
    const body = request.method === 'POST' ? await call.readBody() : null
    const requests = body ? requestsIn(body) : 0
    // Each of several sent at once counts.
    for (let paid = 1; paid < requests; paid++) caller.rateLimit()
    // What is only said, a cancellation or a person's decision, needs no place: there may be none left.
    const place = requests > 0 ? call.openStream() : undefined
    // Of a stream that is ended from here the client is gone, as far as the call is concerned.
    const asked = withBody(request, body, place ? AbortSignal.any([signal, place.signal]) : signal)
    const authInfo = authInfoOf(caller)
    const isOld = await sdk.isLegacyRequest(asked, undefined, { maxRequestBodySize: bodyBytes })
    const response = isOld
      ? await old.handle(asked, caller, authInfo)
      : await modern.fetch(asked, { authInfo })
    return place ? place.hold(response) : response
  }

  return {
    // No `GET`: nothing is told that nobody has asked for, so there is no stream to open. Clients of either kind take a 405 for that.
    routes: [
      { method: 'POST', path, handle },
      { method: 'DELETE', path, handle },
    ],
    async ready() {
      await loaded()
    },
    async stdio(options, caller) {
      const [{ makeServer }, { serveStdio }] = await Promise.all([loaded(), import('./stdio.ts')])
      const line = await serveStdio(() => makeServer(() => caller), options)
      lines.add(line)
      if (closing.signal.aborted) await line.close()
      await line.ended
      lines.delete(line)
      await settled()
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** The request with its body read, and a signal that tells when the client has gone. */
function withBody(
  { url, method, headers }: Request,
  body: Uint8Array<ArrayBuffer> | null,
  signal: AbortSignal,
): Request {
  return new Request(url, { method, headers, signal, body })
}

/** How many of its messages want an answer (JSON-RPC 2.0, 4). One for what cannot be read: the answer to that is why. */
function requestsIn(body: Uint8Array): number {
  try {
    const messages = [JSON.parse(new TextDecoder().decode(body))].flat()
    return messages.filter((one) => !isObject(one) || ('method' in one && 'id' in one)).length
  } catch {
    return 1
  }
}

// The SDK passes what it knows of a request's sender to the handler unchanged.

function authInfoOf(caller: Caller): AuthInfo {
  return { token: '', clientId: caller.user ?? '', scopes: [], extra: { caller } }
}

function callerOf({ http }: ServerContext): Caller {
  const caller = http?.authInfo?.extra?.caller
  if (!caller) throw new Error('nobody knows who sent this request')
  return caller as Caller
}
