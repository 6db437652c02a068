import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server'
import { isObject, MillraceError, systemClock } from '../../protocol/index.ts'
import type { App } from '../../threads/index.ts'
import { readBody } from '../request-parts.ts'
import type { Call } from '../route.ts'
import type { Streams } from '../streams.ts'
import type { Visitor } from '../visitors.ts'
import { visitors } from '../visitors.ts'
import { agentCalls } from './agent-call.ts'
import { agentServers } from './agent-server.ts'
import { onBodyEnd } from './body-end.ts'
import type { McpSettings } from './options.ts'
import { loadSdk } from './sdk.ts'
import { sessions } from './sessions.ts'
import type { StdioOptions } from './stdio.ts'

export interface McpEndpointOptions {
  readonly app: App
  readonly settings: McpSettings
  readonly streams: Streams
  readonly limits: { readonly bodyBytes: number; readonly streams: number }
  readonly heartbeatMs: number
  readonly onError: (error: MillraceError) => void
}

/** An app as an MCP server, before it is known who asks, and by which way. */
export interface McpEndpoint {
  /** Loads what it needs. Rejects with `invalid_input` if that is not installed. */
  ready(): Promise<void>
  /** Answers a request over HTTP, of somebody who may ask. */
  handle(call: Pick<Call, 'request' | 'visitor' | 'connection'>): Promise<Response>
  /** Serves whoever is at the other end of two streams, who may do everything. Resolves when it has gone. */
  stdio(options: StdioOptions): Promise<void>
  /** Answers what is open by saying that it goes away; what the agents do is left to go on. May be called twice. */
  close(): Promise<void>
}

export function mcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { app, settings, streams, limits, heartbeatMs, onError } = options
  const { bodyBytes } = limits
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const lines = new Set<{ close(): Promise<void> }>()
  let loading: ReturnType<typeof load> | undefined
  let closed: Promise<void> | undefined

  async function load() {
    const sdk = await loadSdk()
    const answer = agentCalls({ app, sdk, closing: closing.signal, heartbeatMs, onError })
    const makeServer = agentServers({
      sdk,
      settings,
      agents: app.agents,
      answer(call) {
        const answered = answer(call)
        running.add(answered)
        void answered.finally(() => running.delete(answered))
        return answered
      },
    })
    const modern = sdk.createMcpHandler(() => makeServer(visitorOf), {
      legacy: 'reject',
      // The head of an answer may be waited for only so long, and a run may take longer.
      responseMode: 'sse',
      keepAliveMs: heartbeatMs,
      maxRequestBodySize: bodyBytes,
    })
    const old = sessions({
      sdk,
      makeServer: () => makeServer(visitorOf),
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

  return {
    async ready() {
      await loaded()
    },
    async handle({ request, visitor, connection }) {
      const { sdk, modern, old } = await loaded().catch((cause: MillraceError) => {
        // Not the client's doing.
        throw new MillraceError({ op: 'server.mcp', code: 'internal', message: cause.message, cause })
      })
      const body = request.method === 'POST' ? await readBody(request, { connection, most: bodyBytes }) : null
      // Of a stream that is ended from here the client is gone, as far as the call is concerned.
      const over = new AbortController()
      const gone = AbortSignal.any([connection?.gone ?? request.signal, over.signal])
      const asked = withBody(request, body, gone)
      const requests = body ? requestsIn(body) : 0
      // Whoever sends many at once pays for each.
      for (let paid = 1; paid < requests; paid++) visitor.pay()
      // What is only said, a cancellation or a person's decision, needs no place: there may be none left.
      const free = requests > 0 ? streams.open(visitor.caller, () => {}) : () => {}
      const release = visitor.hold(undefined, () => over.abort())
      const leave = () => {
        free()
        release()
      }
      try {
        const authInfo = authInfoOf(visitor)
        const isOld = await sdk.isLegacyRequest(asked, undefined, { maxRequestBodySize: bodyBytes })
        const response = isOld
          ? await old.handle(asked, visitor, authInfo)
          : await modern.fetch(asked, { authInfo })
        return onBodyEnd(response, leave, over.signal)
      } catch (error) {
        leave()
        throw error
      }
    },
    async stdio(options) {
      const [{ makeServer }, { serveStdio }] = await Promise.all([loaded(), import('./stdio.ts')])
      const owner = await ownerOf(app)
      const line = await serveStdio(() => makeServer(() => owner), options)
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

// The SDK hands what it is told of a request's sender on to whoever answers, as it is.

function authInfoOf(visitor: Visitor): AuthInfo {
  return { token: '', clientId: visitor.user ?? '', scopes: [], extra: { visitor } }
}

function visitorOf({ http }: ServerContext): Visitor {
  const visitor = http?.authInfo?.extra?.visitor
  if (!visitor) throw new Error('nobody knows who sent this request')
  return visitor as Visitor
}

/** Where nobody is asked who they are, everybody is the owner. */
function ownerOf(app: App): Promise<Visitor> {
  const limits = { requestsPerSecond: 1, failedSignIns: 1, recheckMs: 1 }
  const { identify } = visitors({ ...limits, app, auth: false })
  return identify(new Request('http://localhost/'))
}
