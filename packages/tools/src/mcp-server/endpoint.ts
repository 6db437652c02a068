import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server'
import { MillraceError } from 'millrace'
import { checkOptions, invalidInput, isObject, kindOf, systemClock } from 'millrace/internal'
import type { Caller, MountedProtocol, Protocol, ProtocolHost, RouteContext } from 'millrace/server'
import { agentCalls } from './agent-call.ts'
import { agentServers } from './agent-server.ts'
import type { ServeMcpOptions } from './options.ts'
import { mcpTable, readMcpOptions } from './options.ts'
import { loadSdk } from './sdk.ts'
import { sessions } from './sessions.ts'
import type { StdioOptions } from './stdio.ts'
import { streamTasks, taskSubscriptionIn } from './task-stream.ts'

/** The agents as tools of an MCP server. */
export interface McpEndpoint extends MountedProtocol {
  /**
   * Serves the process at the other end of two streams, as this caller. Resolves when it
   * disconnects.
   */
  stdio(options: StdioOptions, caller: Caller): Promise<void>
  /** Ends open calls with a shutdown message; the agents' runs continue. Can be called twice. */
  close(): Promise<void>
}

/** How often clients should ask for the state of a task. */
const pollMs = 1000

/**
 * The agents as tools of an MCP server at `/mcp`, for `serve({ protocols: [mcpProtocol()] })`. Throws
 * `invalid_input` for invalid options.
 */
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
  const connections = new Set<{ close(): Promise<void> }>()
  let loading: ReturnType<typeof load> | undefined
  let closed: Promise<void> | undefined

  async function load() {
    const sdk = await loadSdk()
    const answer = agentCalls({ sdk, closing: closing.signal, heartbeatMs, publicError })
    const makeServer = agentServers({
      sdk,
      settings,
      agents,
      answer: (call) => track(answer(call)),
      track,
      tasks: { sdk, heartbeatMs, pollMs, closing: closing.signal },
    })
    const modern = sdk.createMcpHandler(({ era }) => makeServer(callerOf, era), {
      legacy: 'reject',
      // Clients time out waiting for response headers, and a run may take longer.
      responseMode: 'sse',
      keepAliveMs: heartbeatMs,
      maxRequestBodySize: bodyBytes,
    })
    const old = sessions({
      sdk,
      makeServer: () => makeServer(callerOf, 'legacy'),
      maxSessions: settings.maxSessions,
      perUser: limits.streams,
      idleMs: settings.sessionIdleMs,
      heartbeatMs,
      bodyBytes,
    })
    return { sdk, makeServer, modern, old }
  }

  function track<T>(answered: Promise<T>): Promise<T> {
    running.add(answered)
    // Both ways: the request gets the error.
    void answered.catch(() => {}).finally(() => running.delete(answered))
    return answered
  }

  function loaded() {
    loading ??= load()
    return loading
  }

  /** Waits until all running calls have ended. */
  async function settled() {
    while (running.size > 0) await Promise.allSettled(running)
    // Responses are written in the next turn of the event loop.
    await systemClock.turn()
  }

  async function close() {
    closing.abort()
    await settled()
    const parts = await loading?.catch(() => undefined)
    await Promise.all([
      parts?.modern.close(),
      parts?.old.close(),
      ...[...connections].map((connection) => connection.close()),
    ])
  }

  async function handle(call: RouteContext): Promise<Response> {
    const { request, caller, signal } = call
    const { sdk, modern, old } = await loaded().catch((cause: MillraceError) => {
      // Not the client's fault.
      throw new MillraceError({ op: 'server.mcp', code: 'internal', message: cause.message, cause })
    })
    const body = request.method === 'POST' ? await call.readBody() : null
    const requests = body ? requestsIn(body) : 0
    // Each request of a batch counts.
    for (let counted = 1; counted < requests; counted++) caller.rateLimit()
    // A notification, such as a cancellation, needs no stream slot: there may be none left.
    const stream = requests > 0 ? call.openStream() : undefined
    // If the server ends the stream, the call treats the client as disconnected.
    const asked = withBody(request, body, stream ? AbortSignal.any([signal, stream.signal]) : signal)
    const subscription = stream && taskSubscriptionIn(body)
    if (subscription) {
      const ends = AbortSignal.any([signal, stream.signal, closing.signal])
      const options = { sdk, caller, pollMs, heartbeatMs, signal: ends }
      return stream.wrap(await streamTasks(subscription, options))
    }
    const authInfo = authInfoOf(caller)
    const isOld = await sdk.isLegacyRequest(asked, undefined, { maxRequestBodySize: bodyBytes })
    const response = isOld
      ? await old.handle(asked, caller, authInfo)
      : await modern.fetch(asked, { authInfo })
    return stream ? stream.wrap(response) : response
  }

  return {
    // No `GET`: the server sends no unsolicited messages, so there is no stream to open. All
    // clients accept a 405.
    routes: [
      { method: 'POST', path, handle },
      { method: 'DELETE', path, handle },
    ],
    async ready() {
      await loaded()
    },
    async stdio(options, caller) {
      const [{ makeServer }, { serveStdio }] = await Promise.all([loaded(), import('./stdio.ts')])
      const connection = await serveStdio(({ era }) => makeServer(() => caller, era), options)
      connections.add(connection)
      if (closing.signal.aborted) await connection.close()
      await connection.ended
      connections.delete(connection)
      await settled()
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}

/**
 * The request with its body already read, and a signal that is aborted when the client disconnects.
 */
function withBody(
  { url, method, headers }: Request,
  body: Uint8Array<ArrayBuffer> | null,
  signal: AbortSignal,
): Request {
  return new Request(url, { method, headers, signal, body })
}

/**
 * How many messages expect a response (JSON-RPC 2.0, 4). One for an invalid body, which gets an
 * error.
 */
function requestsIn(body: Uint8Array): number {
  try {
    const messages = [JSON.parse(new TextDecoder().decode(body))].flat()
    return messages.filter((one) => !isObject(one) || ('method' in one && 'id' in one)).length
  } catch {
    return 1
  }
}

// The SDK passes authInfo to the handler unchanged.

function authInfoOf(caller: Caller): AuthInfo {
  return { token: '', clientId: caller.user ?? '', scopes: [], extra: { caller } }
}

function callerOf({ http }: ServerContext): Caller {
  const caller = http?.authInfo?.extra?.caller
  if (!caller) throw new Error('the caller of this request is unknown')
  return caller as Caller
}
